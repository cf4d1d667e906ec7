import type { ObjectMeta, OwnerReference } from './kube-object.ts'

/** Returns the controller owner reference of the object. Only `operator/cluster/ownership.ts` decides whether the object belongs to that owner. */
export function controllerOf(object: {
  readonly metadata: Pick<ObjectMeta, 'ownerReferences'>
}): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true)
}
