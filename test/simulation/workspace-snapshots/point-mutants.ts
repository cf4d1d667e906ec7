import type { Mutant } from '../mutant.ts'
import { WORKSPACE_SNAPSHOTS } from '../mutants/product-modules.ts'
import { seam } from '../seam.ts'

/** Deliberate defects in what the operator does for points in time. */
export const POINT_MUTANTS: readonly Mutant[] = [
  {
    name: 'a snapshot that is lost is taken again',
    invariant: 7,
    seam: seam(WORKSPACE_SNAPSHOTS.members, 'isToBeCreated', () => ({ snapshot }, found) => {
      return snapshot !== undefined && found === undefined
    }),
    kind: 'workspacesPointsCalm',
  },
  {
    name: 'more points in time are taken than the policy allows',
    invariant: 7,
    seam: seam(WORKSPACE_SNAPSHOTS.plan, 'planWorkspaceSnapshot', (plan) => (world, now) => {
      return plan({ ...world, ahead: 0 }, now)
    }),
    kind: 'workspacesPointsCalm',
    seed: 5,
  },
  {
    name: 'a point in time is Succeeded while some of its snapshots are not ready',
    invariant: 7,
    seam: seam(WORKSPACE_SNAPSHOTS.status, 'snapshotSummary', (summary) => (members) => {
      const over = members.filter(({ phase }) => phase === 'Succeeded' || phase === 'LeftOut')
      return summary(over)
    }),
    kind: 'workspacesPointsCalm',
  },
  {
    name: 'the status of a point in time is written though it says nothing new',
    invariant: 7,
    seam: seam(WORKSPACE_SNAPSHOTS.status, 'snapshotThrottleOf', () => () => ({ isStatusDue: true })),
    kind: 'workspacesPointsCalm',
  },
]
