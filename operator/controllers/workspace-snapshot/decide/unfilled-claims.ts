import { UNFILLED_MAX, type WorkspaceSnapshotRestore } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import type { WorkspaceSnapshotWorld } from '../world.ts'

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
 */
export function unfilledIn({ restore }: WorkspaceSnapshotWorld, stored: WorkspaceSnapshotRestore): Unfilled {
  const { members = [], volumes = [], unfilled: before = [] } = stored
  const ofMachines = members.flatMap(({ name, phase, restore: request }) => {
    const { kubevirt } = restore.targets[name] ?? {}
    return phase === 'Succeeded' && kubevirt?.lastRestore.startsWith(`${request}-`) === true ? kubevirt.unbound : []
  })
  const used = new Set([
    ...Object.values(restore.targets).flatMap(({ kubevirt }) => kubevirt?.unbound ?? []),
    ...[...(restore.lab?.claims.values() ?? [])].map(({ claim }) => claim),
  ])
  const isUnbound = (claim: string) => restore.claims[claim] !== undefined && restore.claims[claim].phase !== 'Bound'
  const ofVolumes = volumes.flatMap(({ claim, phase }) => (phase === 'Succeeded' && isUnbound(claim) ? [claim] : []))
  const waiting = new Set([...before.filter(isUnbound), ...ofMachines, ...ofVolumes])
  const gone = before.filter((claim) => {
    return restore.claims[claim] === undefined || (isUnbound(claim) && !used.has(claim))
  })
  return {
    waiting: [...waiting]
      .filter((claim) => !gone.includes(claim))
      .toSorted(compareTexts)
      .slice(0, UNFILLED_MAX),
    gone,
  }
}
