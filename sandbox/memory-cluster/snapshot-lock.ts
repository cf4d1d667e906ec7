import { isDeepStrictEqual } from 'node:util'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { refused } from './errors.ts'

interface LockedMachine extends KubeObject {
  readonly spec?: {
    readonly runStrategy?: string
    readonly template?: { readonly spec?: { readonly volumes?: readonly object[] } }
  }
  readonly status?: { readonly snapshotInProgress?: string }
}

/** KubeVirt's webhook rejects a machine that is switched on or off, or gets other volumes, while a snapshot of it is taken. */
export function admitUnlocked(type: ResourceType, before: KubeObject, after: KubeObject): void {
  if (type !== KUBEVIRT_VIRTUAL_MACHINE) return
  const [old, wanted] = [before as LockedMachine, after as LockedMachine]
  const { snapshotInProgress } = old.status ?? {}
  if (snapshotInProgress === undefined) return
  const volumesOf = ({ spec }: LockedMachine) => spec?.template?.spec?.volumes ?? []
  const what = !isDeepStrictEqual(volumesOf(old), volumesOf(wanted))
    ? 'disks or volumes'
    : old.spec?.runStrategy === wanted.spec?.runStrategy
      ? undefined
      : 'running state'
  if (what === undefined) return
  throw refused(
    422,
    undefined,
    `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: Cannot update VM ${what} until snapshot "${snapshotInProgress}" completes`,
  )
}
