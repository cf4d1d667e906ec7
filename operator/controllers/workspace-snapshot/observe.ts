import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { shortHash, vmChildNames } from '@open-terrain/constructs/operator'
import { wasSeen } from '../../base/hash-list.ts'
import { compareTexts } from '../../base/messages.ts'
import { fromTime, toShortTime } from '../../base/time.ts'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import type { SnapshotView } from '../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf, type Raw } from '../../kube/kube-object.ts'
import { VIRTUAL_MACHINE_RESTORE, VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import {
  type KubeVirtMachine,
  type LabMachine,
  type LabWorkspace,
  parsedWorkspaceSnapshotSpec,
  type WorkspaceSnapshotCaches,
} from './caches.ts'
import type { MachineSnapshotView } from './views.ts'
import type {
  FoundRestore,
  FoundSnapshot,
  MemberOfLab,
  RestoreTarget,
  RestoreWorld,
  WorkspaceSnapshotView,
  WorkspaceSnapshotWorld,
} from './world.ts'

/** Observes a WorkspaceSnapshot from caches alone, without a request to the API server. */
export function observeWorkspaceSnapshot(
  snapshot: WorkspaceSnapshotView,
  caches: WorkspaceSnapshotCaches,
  limit: number,
  refusal?: string,
): WorkspaceSnapshotWorld {
  const { namespace = '' } = snapshot.metadata
  const workspace = caches.workspaceOf(namespace)
  const { reflectors, cluster } = caches
  return {
    snapshot,
    spec: parsedWorkspaceSnapshotSpec(snapshot),
    namespaceTerminating: isTerminating(cluster.namespaces.get(namespace)),
    workspace:
      workspace === undefined || isTerminating(workspace)
        ? undefined
        : { name: workspace.metadata.name, uid: workspace.metadata.uid ?? '' },
    lab: workspace === undefined ? [] : [...machinesOf(workspace, caches), ...volumesOf(workspace, caches)],
    found: foundOf(snapshot, caches),
    notServed: [
      ...(reflectors.isInstalled(VIRTUAL_MACHINE_SNAPSHOT) ? [] : (['Machine'] as const)),
      ...(reflectors.isInstalled(VOLUME_SNAPSHOT) ? [] : (['Volume'] as const)),
    ],
    ahead: caches.snapshots.find(BY_NAMESPACE, namespace).filter((other) => isAhead(other, snapshot)).length,
    limit,
    restore: restoreOfLab(snapshot, workspace, caches),
    refusal,
  }
}

function restoreOfLab(
  snapshot: WorkspaceSnapshotView,
  workspace: LabWorkspace | undefined,
  caches: WorkspaceSnapshotCaches,
): RestoreWorld {
  const { namespace = '', uid } = snapshot.metadata
  const { snapshots, reflectors } = caches
  const other = snapshots
    .find(BY_NAMESPACE, namespace)
    .find(({ metadata, status }) => metadata.uid !== uid && status.restore?.phase === 'InProgress')
  return {
    isServed: reflectors.isInstalled(VIRTUAL_MACHINE_RESTORE),
    isLabOff: workspace !== undefined && isSwitchedOff(workspace),
    targets: workspace === undefined ? {} : targetsOf(workspace, caches),
    found: restoresOf(snapshot, caches),
    other: other?.metadata.name,
  }
}

/** Its reason does not tell: a machine that is being restored, or anything in it that has failed, comes before `Halted`. */
function isSwitchedOff({ spec, status }: LabWorkspace): boolean {
  const { powerState }: Raw = spec ?? {}
  return powerState === 'Halted' || status.expiry?.ended === true
}

function targetsOf(workspace: KubeObject, caches: WorkspaceSnapshotCaches): Record<string, RestoreTarget> {
  const { lab } = caches
  const { name: namespace } = workspace.metadata
  const volumes = volumesOf(workspace, caches).map(({ name }) => name)
  const machines = childrenOf(workspace, lab.machines.find(BY_NAMESPACE, namespace)).filter(
    (one) => !isTerminating(one),
  )
  const targets = machines.map((machine): [string, RestoreTarget] => {
    const { name } = machine.metadata
    const replaced = { isReplaced: isReplaced(machine), isResetAsked: isResetAsked(machine) }
    const found = lab.kubevirt.get(keyOf({ namespace, name: vmChildNames(name).machine }))
    if (found === undefined || isTerminating(found) || !isChildOf(found, machine))
      return [name, { ...replaced, kubevirt: undefined }]
    const { printableStatus, runStrategy, restoreInProgress, lastRestore, rootClaim } = found
    const isOff = printableStatus === 'Stopped' && runStrategy === 'Halted'
    const kubevirt = { object: found, isOff, restoreInProgress, lastRestore, rootClaim }
    const claims = claimsIn(found)
    return [name, { ...replaced, kubevirt: { ...kubevirt, volumes: volumes.filter((one) => claims.includes(one)) } }]
  })
  return Object.fromEntries(targets)
}

function claimsIn({ spec }: KubeVirtMachine): string[] {
  const { template }: Raw = spec ?? {}
  const volumes: Raw[] = template?.spec?.volumes ?? []
  return volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

/** A replacement that waits is in the conditions alone. */
function isReplaced({ status }: LabMachine): boolean {
  return status.replacement !== undefined || status.conditions?.some(({ type }) => type === 'Replacing') === true
}

function isResetAsked({ metadata, status }: LabMachine): boolean {
  const value = metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
  return value !== undefined && !wasSeen(status.resetRequest, status.earlierResets, shortHash([value]))
}

function restoresOf(
  snapshot: WorkspaceSnapshotView,
  { machineRestores }: WorkspaceSnapshotCaches,
): Record<string, FoundRestore> {
  const { namespace = '' } = snapshot.metadata
  const entries = (snapshot.status.restore?.members ?? []).flatMap(({ restore: name }) => {
    const found = machineRestores.get(keyOf({ namespace, name }))
    if (found === undefined) return []
    const { isComplete, hasFailed, trouble, claim } = found
    const state = { isComplete, hasFailed, text: trouble, claim }
    return [
      [
        name,
        { object: found, isOurs: isChildOf(found, snapshot), isTerminating: isTerminating(found), ...state },
      ] as const,
    ]
  })
  return Object.fromEntries(entries)
}

/** Reports whether another snapshot of the workspace is taken, or waits for longer. Those of one second are in the order of their names. */
function isAhead(other: WorkspaceSnapshotView, one: WorkspaceSnapshotView): boolean {
  if (other.metadata.uid === one.metadata.uid) return false
  if (other.status.members !== undefined) return true
  if (isTerminating(other) || !parsedWorkspaceSnapshotSpec(other).ok) return false
  return compareTexts(ageOf(other), ageOf(one)) < 0
}

function ageOf({ metadata }: KubeObject): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name}`
}

function machinesOf(workspace: KubeObject, { lab }: WorkspaceSnapshotCaches): MemberOfLab[] {
  const { name: namespace } = workspace.metadata
  const machines = childrenOf(workspace, lab.machines.find(BY_NAMESPACE, namespace))
  return sorted(
    machines.map((machine) => {
      const { name } = machine.metadata
      const deployed = lab.kubevirt.get(keyOf({ namespace, name: vmChildNames(name).machine }))
      const hasDisk = deployed !== undefined && !isTerminating(deployed) && isChildOf(deployed, machine)
      return { kind: 'Machine', name, hasDisk }
    }),
  )
}

function volumesOf(workspace: KubeObject, { cluster }: WorkspaceSnapshotCaches): MemberOfLab[] {
  const { name, uid = '' } = workspace.metadata
  const claims = childrenOf(workspace, cluster.claims.find(BY_OWNER, familyKey(name, uid)))
  return sorted(
    claims.map((claim) => {
      const hasDisk = claim.phase === 'Bound' && !isTerminating(claim)
      return { kind: 'Volume', name: claim.metadata.name, hasDisk }
    }),
  )
}

function sorted(members: readonly MemberOfLab[]): MemberOfLab[] {
  return members.toSorted((one, other) => compareTexts(one.name, other.name))
}

function foundOf(snapshot: WorkspaceSnapshotView, caches: WorkspaceSnapshotCaches): Record<string, FoundSnapshot> {
  const { namespace = '' } = snapshot.metadata
  const { machineSnapshots, cluster } = caches
  const entries = (snapshot.status.members ?? []).flatMap(({ kind, snapshot: name }) => {
    if (name === undefined) return []
    const key = keyOf({ namespace, name })
    if (kind === 'Machine') {
      const found = machineSnapshots.get(key)
      return found === undefined ? [] : [[name, foundMachine(found, snapshot)] as const]
    }
    const found = cluster.snapshots.get(key)
    return found === undefined ? [] : [[name, foundVolume(found, snapshot)] as const]
  })
  return Object.fromEntries(entries)
}

function foundMachine(found: MachineSnapshotView, owner: WorkspaceSnapshotView): FoundSnapshot {
  const { phase, isReady, trouble, indications, excluded, time, sourceUid } = found
  return {
    ...commonOf(found, owner),
    isReady,
    hasFailed: phase === 'Failed',
    text: isReady ? (excluded === '' ? '' : `not in it: ${excluded}`) : trouble,
    // KubeVirt writes the indications before the snapshot is taken.
    ...(isReady && { consistency: indications === '' ? 'Offline' : indications }),
    ...(excluded !== '' && { excluded }),
    time: timeOf(time),
    ...(sourceUid !== undefined && { sourceUid }),
  }
}

function foundVolume(found: SnapshotView, owner: WorkspaceSnapshotView): FoundSnapshot {
  const { readyToUse, error = '', takenAt } = found
  return {
    ...commonOf(found, owner),
    isReady: readyToUse,
    hasFailed: false,
    text: readyToUse ? '' : error,
    time: timeOf(takenAt),
  }
}

function commonOf(found: KubeObject, owner: WorkspaceSnapshotView) {
  const createdMs = fromTime(found.metadata.creationTimestamp)
  const workspaceUid = found.metadata.labels?.[LABELS.workspaceUid]
  return {
    isOurs: isChildOf(found, owner),
    isTerminating: isTerminating(found),
    createdMs,
    ...(workspaceUid !== undefined && { workspaceUid }),
  }
}

/** The API server refuses a status with a text that is no time. */
function timeOf(text: string | undefined): string | undefined {
  const ms = fromTime(text)
  return ms === undefined ? undefined : toShortTime(ms)
}
