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
 * Whose is it? The one place that decides it, for every kind. Anyone who may write in a namespace can write any label, name and owner
 * there, so labels only help to find: an object is a child if it is in the namespace of its owner, and its controller is the owner by
 * group, kind, name and uid. An owner that is in no namespace may have children in any. That the owner exists is proved by having it in hand.
 */

/** Who may own something: an object that exists, or what is known of one. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>
}

/** Whether `owner` is responsible for the object; a namesake of an earlier life, or one in another namespace, is not. */
export function isChildOf(object: KubeObject, owner: Owner): boolean {
  const { name, namespace, uid } = owner.metadata
  const controller = controllerOf(object)
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

/** Those of them that belong to `owner`. */
export function childrenOf<T extends KubeObject>(owner: Owner, objects: readonly T[]): T[] {
  return objects.filter((one) => isChildOf(one, owner))
}

/** The one of `owners` that the object belongs to; undefined where it belongs to none of them, or to none that exists. */
export function ownerAmong<T extends KubeObject>(
  object: KubeObject,
  owners: { get(key: string): T | undefined },
): T | undefined {
  const { namespace } = object.metadata
  const name = controllerOf(object)?.name
  if (name === undefined) return undefined
  // Of a kind that is in no namespace, the name is the key.
  const owner = owners.get(keyOf({ namespace, name })) ?? owners.get(name)
  return owner !== undefined && isChildOf(object, owner) ? owner : undefined
}

/** The controller of the object where it says that it is of this kind; whether there is such a one is another question. */
export function controllerOfKind(
  object: KubeObject,
  { group, kind }: Pick<ResourceType, 'group' | 'kind'>,
): OwnerReference | undefined {
  const owner = controllerOf(object)
  return owner?.kind === kind && groupOf(owner.apiVersion) === group ? owner : undefined
}

/** Kind of what the object says is its controller, of whatever group. */
export function controllerKindOf(object: KubeObject): string | undefined {
  return controllerOf(object)?.kind
}

/** Whether nothing says to be responsible for it: `--cascade=orphan` leaves objects so. */
export function isOrphaned(object: KubeObject): boolean {
  return controllerOf(object) === undefined
}

/**
 * Value under which children are found by their owner. The namespace counts as much as the uid, so that what is forged elsewhere is not even looked at.
 * @param namespace of the children. That of their owner; an owner that is in no namespace asks for each namespace in which it has some, and for undefined
 * @param uid of the owner
 */
export function familyKey(namespace: string | undefined, uid: string): string {
  return [namespace ?? '', uid].join('/')
}

/** Index over children, by {@link familyKey} of what says to be their controller. It finds them; {@link childrenOf} tells whose they are. */
export const BY_OWNER = 'owner'

/** Index function: the {@link familyKey} of children that say to belong to an owner of this kind, and nothing for all others. */
export function byOwnerOf(kind: Pick<ResourceType, 'group' | 'kind'>): (object: KubeObject) => readonly string[] {
  return (object) => {
    const owner = controllerOfKind(object, kind)
    return owner === undefined ? [] : [familyKey(object.metadata.namespace, owner.uid)]
  }
}
