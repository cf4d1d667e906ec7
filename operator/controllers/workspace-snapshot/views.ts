import { keptMetadata } from '../../cluster/kept-metadata.ts'
import type { KubeObject, Raw } from '../../kube/kube-object.ts'
import { upTo } from '../../runtime/foreign.ts'

/** KubeVirt's VirtualMachineSnapshot. */
export interface MachineSnapshotView extends KubeObject {
  readonly phase: string
  readonly isReady: boolean
  /** Its error, or why it does not go on; empty if it says neither. */
  readonly trouble: string
  /** How the disks were taken, such as `Online,GuestAgent`; empty if the guest was off. */
  readonly indications: string
  /** Names of the volumes that are not in it, separated by commas; empty if all are. */
  readonly excluded: string
  readonly time: string | undefined
}

const TEXT_MAX = 1_024
const LIST_MAX = 256

export function viewMachineSnapshot(object: KubeObject): MachineSnapshotView {
  const { status }: Raw = object
  const { apiVersion, kind, metadata } = object
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata),
    phase: upTo(64, status?.phase),
    isReady: status?.readyToUse === true,
    trouble: upTo(TEXT_MAX, troubleIn(status)),
    indications: upTo(LIST_MAX, (status?.indications ?? []).join(',')),
    excluded: upTo(LIST_MAX, (status?.snapshotVolumes?.excludedVolumes ?? []).join(', ')),
    time: status?.creationTime === undefined ? undefined : upTo(64, status.creationTime),
  }
}

/** KubeVirt writes the texts of these conditions into their reasons. */
function troubleIn(status: Raw): unknown {
  if (status?.error?.message) return status.error.message
  const conditions: Raw[] = status?.conditions ?? []
  const found = [
    conditions.find(({ type, status: is }) => type === 'Failure' && is === 'True'),
    conditions.find(({ type, status: is }) => type === 'Progressing' && is === 'False'),
  ].find((one) => one !== undefined)
  return found?.message || found?.reason
}
