import type { KubeObject, OwnerReference } from './kube-object.ts'

/** The owner that the object says is responsible for it. Whether it belongs to that one is decided in `operator/cluster/ownership.ts`, and nowhere else. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true)
}
