import { UNFILLED_MAX, type WorkspaceSnapshotRestore } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import type { RestoreTarget, WorkspaceSnapshotWorld } from '../world.ts'

/** Restored claims that have no data of then yet. */
export interface Unfilled {
  /** They wait for what first uses them. */
  readonly waiting: readonly string[]
  /** They are gone, or nothing uses them any more, before they had any. */
  readonly gone: readonly string[]
}

/** Reports whether a restore has claims, or may get some, whose data is in the point in time alone until something uses them. */
export function mayWait({ restore }: WorkspaceSnapshotWorld, stored: WorkspaceSnapshotRestore): boolean {
  const { phase, members = [], volumes = [], unfilled } = stored
  if (unfilled !== undefined) return true
  if (phase !== 'InProgress') return false
  const isLate = volumes.some(({ claim }) => restore.claims[claim]?.waitsForPod === true)
  return isLate || members.some(({ name }) => restore.targets[name]?.kubevirt?.waitsForPod === true)
}

/** Reports whether what is written down of a restore, if any, has ended, and needs the point in time no more. */
export function hasItsData(stored: WorkspaceSnapshotRestore | undefined): boolean {
  return stored?.phase !== 'InProgress' && stored?.unfilled === undefined
}

/**
 * Returns which claims of a restore do not have their data. KubeVirt counts a machine as restored whose claims are not bound where the storage waits for a first
 * consumer, and so does the switch of the volumes. One that was seen stays in the record until it is bound.
 * @param isReplacing whether the restore may just have replaced claims that an earlier one left without data: these are needed no more
 */
export function unfilledIn(
  world: WorkspaceSnapshotWorld,
  stored: WorkspaceSnapshotRestore,
  { isReplacing = false } = {},
): Unfilled {
  const { claims } = world.restore
  const { volumes = [], unfilled: before = [] } = stored
  const used = usedClaims(world, stored)
  // One that is `Lost` had a volume.
  const isUnbound = (claim: string) => !['Bound', 'Lost', undefined].includes(claims[claim]?.phase)
  const ofVolumes = volumes.flatMap(({ claim, phase }) => (phase === 'Succeeded' && isUnbound(claim) ? [claim] : []))
  const gone = before.filter((claim) => {
    const isThere = claims[claim] !== undefined
    return isReplacing ? !isThere && used.has(claim) : !isThere || (isUnbound(claim) && !used.has(claim))
  })
  const kept = before.filter((claim) => isUnbound(claim) && used.has(claim))
  const ofMachines = claimsOfMachines(world, stored).filter((claim) => claims[claim] === undefined || isUnbound(claim))
  const waiting = new Set([...kept, ...ofMachines, ...ofVolumes])
  return {
    waiting: [...waiting]
      .filter((claim) => !gone.includes(claim))
      .toSorted(compareTexts)
      .slice(0, UNFILLED_MAX),
    gone,
  }
}

/** Returns those that are written down and wait. What a machine has got since then has nothing to do with the restore. */
export function heldBy(world: WorkspaceSnapshotWorld, stored: WorkspaceSnapshotRestore): readonly string[] {
  const { unfilled = [] } = stored
  const { waiting } = unfilledIn(world, stored)
  return unfilled.length < UNFILLED_MAX ? waiting.filter((claim) => unfilled.includes(claim)) : waiting
}

type Machine = RestoreTarget['kubevirt']

/** Reports whether KubeVirt's machine says that this VirtualMachineRestore was the last one of it. */
export function isRestoredBy(kubevirt: Machine, request: string): kubevirt is NonNullable<Machine> {
  return kubevirt?.lastRestore.startsWith(`${request}-`) === true
}

function claimsOfMachines({ restore }: WorkspaceSnapshotWorld, { members = [] }: WorkspaceSnapshotRestore): string[] {
  return members.flatMap(({ name, phase, restore: request }) => {
    const { kubevirt } = restore.targets[name] ?? {}
    return phase === 'Succeeded' && isRestoredBy(kubevirt, request) ? (kubevirt?.unbound ?? []) : []
  })
}

/** KubeVirt's machine may be seen to be restored later than its request is seen to be complete. */
function usedClaims(
  { restore }: WorkspaceSnapshotWorld,
  { phase, members = [] }: WorkspaceSnapshotRestore,
): Set<string> {
  const isOutdated = (name: string, kubevirt: Machine) =>
    phase === 'InProgress' &&
    members.some((one) => one.name === name && one.phase === 'Succeeded' && !isRestoredBy(kubevirt, one.restore))
  return new Set([
    ...Object.entries(restore.targets).flatMap(([name, { kubevirt }]) =>
      isOutdated(name, kubevirt) ? [] : (kubevirt?.unbound ?? []),
    ),
    ...[...(restore.lab?.claims.values() ?? [])].map(({ claim }) => claim),
  ])
}
