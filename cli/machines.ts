import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  deletionWord,
  type VIRTUAL_MACHINE_CONDITIONS,
  type VirtualMachineReason,
  type VirtualMachineStatus,
  virtualMachine,
} from '@open-terrain/constructs/operator'
import { compareTexts } from '../operator/base/messages.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { listWhole } from '../operator/kube/list-all.ts'
import type { Lab } from './labs.ts'
import type { DiskNeed } from './outcomes.ts'

/** A machine of a lab as the API server has it. An operator of another version may say more, or less. */
export interface Machine extends KubeObject {
  readonly status?: Partial<VirtualMachineStatus>
}

/** The reason of a machine that runs with an earlier spec, where a restart is enough. */
const RESTART: VirtualMachineReason = 'RestartRequired'

/** Returns the namespace of a lab. */
export function namespaceOfLab({ metadata, status }: Lab): string {
  return status?.namespace ?? metadata.name
}

/** Lists the machines of a lab, by name; none where its namespace is not there yet. Throws ApiError. */
export async function machinesOf(client: KubeClient, lab: Lab): Promise<readonly Machine[]> {
  const machines = await listWhole(client, virtualMachine, {
    namespace: namespaceOfLab(lab),
    labelSelector: `${LABELS.workspaceUid}=${lab.metadata.uid}`,
    project: (object) => object as Machine,
  })
  return machines.toSorted((a, b) => compareTexts(a.metadata.name, b.metadata.name))
}

/** Returns the disks that a machine gets anew, by name, and that are there now: its further disks stay. */
export function replacedDisksOf({ status = {} }: Machine): readonly string[] {
  const hasRoot = [status.clone?.uid, status.restoredClaim, status.bootedAt].some((one) => one !== undefined)
  return hasRoot ? ['root'] : []
}

/** Reports whether a machine is getting a new disk. Meanwhile it may be Ready with the old one. */
export function isReplacing(machine: Machine): boolean {
  return conditionOf(machine, 'Replacing')?.status === 'True'
}

/** Reports whether a machine waits for room for a second root disk, and tells the word that gives the present one up. */
export function waitsForRoom(machine: Machine): boolean {
  const { reason, message = '' } = conditionOf(machine, 'Replacing') ?? {}
  const word = deletionWord(machine)
  const isTold = word !== undefined && message.includes(`${ANNOTATIONS.deleteDiskFirst}=${word}`)
  return isTold && reason === 'ReplacementBlocked'
}

/** Returns why a machine needs a new disk; undefined if it needs none, or its operator does not say so. */
export function diskNeedOf(machine: Machine): DiskNeed | undefined {
  const upToDate = conditionOf(machine, 'UpToDate')
  const isOutdated = upToDate?.status === 'False' && upToDate.reason !== RESTART
  // One that is both has more to lose than what is lost.
  if (isOutdated || conditionOf(machine, 'RebuildRequired')?.status === 'True') return 'outdated'
  return conditionOf(machine, 'DiskLost')?.status === 'True' ? 'lost' : undefined
}

function conditionOf({ status }: Machine, type: keyof typeof VIRTUAL_MACHINE_CONDITIONS) {
  return status?.conditions?.find((one) => one.type === type)
}
