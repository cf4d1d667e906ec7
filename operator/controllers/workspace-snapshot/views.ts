import { LABELS } from '@open-terrain/constructs'
import { CLOUD_INIT_DISK, ROOT_DISK, SYSPREP_DISK } from '@open-terrain/constructs/operator'
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
  /** Names of the disks that are not in it, separated by commas; empty if all are. */
  readonly excluded: string
  readonly time: string | undefined
  /** Uid of the machine that it is of; undefined until KubeVirt has looked at it. */
  readonly sourceUid: string | undefined
}

/** KubeVirt's VirtualMachineRestore. */
export interface MachineRestoreView extends KubeObject {
  readonly isComplete: boolean
  readonly hasFailed: boolean
  /** What holds it up, or why it has failed; empty if it says neither. */
  readonly trouble: string
  /** Name of the claim of the restored root disk; empty until it is known. */
  readonly claim: string
}

const TEXT_MAX = 1_024
const LIST_MAX = 256
/** Volumes of Secrets. KubeVirt names them as left out of every snapshot, and nothing is lost with them. */
const OF_SECRETS: ReadonlySet<unknown> = new Set([CLOUD_INIT_DISK, SYSPREP_DISK])

export function viewMachineSnapshot(object: KubeObject): MachineSnapshotView {
  const { status }: Raw = object
  const { apiVersion, kind, metadata } = object
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata, { labels: [LABELS.workspaceUid] }),
    phase: upTo(64, status?.phase),
    isReady: status?.readyToUse === true,
    trouble: upTo(TEXT_MAX, troubleIn(status)),
    indications: upTo(LIST_MAX, (status?.indications ?? []).join(',')),
    excluded: upTo(LIST_MAX, excludedDisks(status).join(', ')),
    time: status?.creationTime === undefined ? undefined : upTo(64, status.creationTime),
    sourceUid: status?.sourceUID === undefined ? undefined : upTo(64, status.sourceUID),
  }
}

export function viewMachineRestore(object: KubeObject): MachineRestoreView {
  const { status }: Raw = object
  const { apiVersion, kind, metadata } = object
  const restores: Raw[] = status?.restores ?? []
  const isComplete = status?.complete === true
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata),
    isComplete,
    hasFailed: conditionsIn(status).some(({ type, status: is }) => type === 'Failure' && is === 'True'),
    trouble: isComplete ? '' : upTo(TEXT_MAX, troubleIn(status)),
    claim: upTo(LIST_MAX, restores.find(({ volumeName }) => volumeName === ROOT_DISK)?.persistentVolumeClaim),
  }
}

function excludedDisks(status: Raw): unknown[] {
  const names: unknown[] = status?.snapshotVolumes?.excludedVolumes ?? []
  return names.filter((name) => !OF_SECRETS.has(name))
}

function conditionsIn(status: Raw): Raw[] {
  return status?.conditions ?? []
}

/** KubeVirt writes the texts of these conditions into their reasons. */
function troubleIn(status: Raw): unknown {
  if (status?.error?.message) return status.error.message
  const conditions = conditionsIn(status)
  const found = [
    conditions.find(({ type, status: is }) => type === 'Failure' && is === 'True'),
    conditions.find(({ type, status: is }) => type === 'Progressing' && is === 'False'),
  ].find((one) => one !== undefined)
  return found?.message || found?.reason
}
