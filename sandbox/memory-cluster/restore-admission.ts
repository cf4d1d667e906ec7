import { isDeepStrictEqual } from 'node:util'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { VIRTUAL_MACHINE_RESTORE } from '../../operator/kube/resource-types.ts'
import { refused } from './errors.ts'
import type { ObjectStore } from './object-store.ts'

interface Restore extends KubeObject {
  readonly spec?: { readonly target?: object }
  readonly status?: { readonly complete?: boolean }
}

/** KubeVirt's webhook rejects a restore of a machine that has another one which is not complete, also one that has failed or is being deleted. */
export function admitRestore(store: ObjectStore, type: ResourceType, object: KubeObject): void {
  if (type !== VIRTUAL_MACHINE_RESTORE) return
  const { metadata, spec } = object as Restore
  for (const other of store.table(VIRTUAL_MACHINE_RESTORE).objects.values() as Iterable<Restore>)
    if (
      other.metadata.namespace === metadata.namespace &&
      isDeepStrictEqual(other.spec?.target, spec?.target) &&
      other.status?.complete !== true
    )
      throw refused(
        422,
        undefined,
        `admission webhook "virtualmachinerestore-validator.snapshot.kubevirt.io" denied the request: VirtualMachineRestore "${other.metadata.name}" in progress`,
      )
}
