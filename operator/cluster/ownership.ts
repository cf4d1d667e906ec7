import { LABELS } from '@open-terrain/constructs'
import { workspace as WORKSPACE } from '@open-terrain/constructs/operator'
import { controllerOf } from '../kube/controller-of.ts'
import {
  groupOf,
  type KubeObject,
  keyOf,
  type ObjectMeta,
  type OwnerReference,
  type ResourceType,
} from '../kube/kube-object.ts'

/**
 * The only place that decides which object owns which, for every kind. Anyone who may write in a namespace can set any label, name and owner there,
 * so labels only help to find objects. An object is a child if it is in the namespace of its owner and its controller matches the owner by group,
 * kind, name and uid: for a claim that a volume was restored to, its owner. A cluster-scoped owner may have children in any namespace. Callers prove that the owner exists by passing it.
 */

type GroupKind = Pick<ResourceType, 'group' | 'kind'>

/** A possible owner: an existing object, or what is known of one. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace' | 'uid'>
}

/**
 * Returns the controller owner reference. A claim that a volume was restored to names its Workspace as an owner alone: an earlier operator, which does not know
 * which claim is which, would delete a child that nothing asks for. It has a label instead.
 */
export function ownerIn(metadata: Pick<ObjectMeta, 'labels' | 'ownerReferences'>): OwnerReference | undefined {
  const controller = controllerOf({ metadata })
  if (controller !== undefined || metadata.labels?.[LABELS.volume] === undefined) return controller
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind }) => kind === WORKSPACE.kind && groupOf(apiVersion) === WORKSPACE.group,
  )
}

/** Reports whether `owner` is the controller of the object. An earlier object of that name, or one in another namespace, is not. */
export function isChildOf(object: KubeObject, owner: Owner): boolean {
  const { name, namespace, uid } = owner.metadata
  const controller = ownerIn(object.metadata)
  return (
    controller !== undefined &&
    uid !== undefined &&
    controller.uid === uid &&
    controller.name === name &&
    controller.kind === owner.kind &&
    groupOf(controller.apiVersion) === groupOf(owner.apiVersion) &&
    (namespace === undefined || object.metadata.namespace === namespace)
  )
}

export function childrenOf<T extends KubeObject>(owner: Owner, objects: readonly T[]): T[] {
  return objects.filter((one) => isChildOf(one, owner))
}

/** Returns the owner of the object among `owners`; undefined if it belongs to none of them, or its owner does not exist. */
export function ownerAmong<T extends KubeObject>(
  object: KubeObject,
  owners: { get(key: string): T | undefined },
): T | undefined {
  const { namespace } = object.metadata
  const name = ownerIn(object.metadata)?.name
  if (name === undefined) return undefined
  // The key of a cluster-scoped owner is its name.
  const owner = owners.get(keyOf({ namespace, name })) ?? owners.get(name)
  return owner !== undefined && isChildOf(object, owner) ? owner : undefined
}

/** Returns the controller reference of the object if it names this kind. It does not check whether that controller exists. */
export function controllerOfKind(object: KubeObject, { group, kind }: GroupKind): OwnerReference | undefined {
  const owner = ownerIn(object.metadata)
  return owner?.kind === kind && groupOf(owner.apiVersion) === group ? owner : undefined
}

/** Returns the kind in the controller reference of the object, regardless of its group. */
export function controllerKindOf(object: KubeObject): string | undefined {
  return ownerIn(object.metadata)?.kind
}

/** Reports whether the object has no controller reference, as after `--cascade=orphan`. */
export function isOrphaned(object: KubeObject): boolean {
  return ownerIn(object.metadata) === undefined
}

/**
 * Returns the index value under which the children of an owner are found. It includes the namespace, so forged children elsewhere are not even read.
 * @param namespace of the children, the same as that of their owner. A cluster-scoped owner needs a lookup per namespace and one for undefined
 * @param uid of the owner
 */
export function familyKey(namespace: string | undefined, uid: string): string {
  return [namespace ?? '', uid].join('/')
}

/** Index over children, by {@link familyKey} of their controller reference. It only finds candidates; {@link childrenOf} decides. */
export const BY_OWNER = 'owner'

/** Returns an index function: {@link familyKey} of objects whose controller reference names this kind, no value for all others. */
export function byOwnerOf(kind: GroupKind): (object: KubeObject) => readonly string[] {
  return (object) => {
    const owner = controllerOfKind(object, kind)
    return owner === undefined ? [] : [familyKey(object.metadata.namespace, owner.uid)]
  }
}
