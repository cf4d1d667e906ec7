import { controllerOf } from '../kube/controller-of.ts'
import { type KubeObject, keyOf, type ObjectMeta, type OwnerReference, type ResourceType } from '../kube/kube-object.ts'

/**
 * Whose is it? The one place that decides it, for every kind. Anyone who may write in a namespace can write any label, name and owner
 * there, so labels only help to find: an object is a child if it is in the namespace of its owner, and its controller is the owner by
 * group, kind, name and uid. That the owner exists is proved by having it in hand.
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
    object.metadata.namespace === namespace
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
  const owner = owners.get(keyOf(namespace === undefined ? { name } : { namespace, name }))
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

/** Whether nothing says to be responsible for it: `--cascade=orphan` leaves objects so. */
export function isOrphaned(object: KubeObject): boolean {
  return controllerOf(object) === undefined
}

/** API group of a version: versions of one group are the same kinds. Empty for the core group. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/**
 * Value under which children are found by their owner: the namespace counts as much as the uid.
 * @param uid of the owner
 */
export function familyKey(namespace: string | undefined, uid: string): string {
  return [namespace ?? '', uid].join('/')
}
