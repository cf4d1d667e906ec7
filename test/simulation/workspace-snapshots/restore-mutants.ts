import type { Mutant } from '../mutant.ts'
import { WORKSPACE_SNAPSHOTS } from '../mutants/product-modules.ts'
import { seam } from '../seam.ts'

type WithRestore = typeof import('../../../operator/controllers/workspace-snapshot/decide/restore.ts').withRestore
type World = Parameters<WithRestore>[0]
type Plan = ReturnType<WithRestore>
type Restore = NonNullable<Plan['status']['restore']>
type Target = World['restore']['targets'][string]

/** What becomes of a request is decided in another world than there is. */
const decidedIn = (worldOf: (world: World) => World) =>
  seam(WORKSPACE_SNAPSHOTS.restore, 'withRestore', (withRestore) => (world, plan, now) => {
    return withRestore(worldOf(world), plan, now)
  })

const decidedAs = (planOf: (plan: Plan, world: World) => Plan) =>
  seam(WORKSPACE_SNAPSHOTS.restore, 'withRestore', (withRestore) => (world, plan, now) => {
    return planOf(withRestore(world, plan, now), world)
  })

function withTargets(world: World, change: (kubevirt: NonNullable<Target['kubevirt']>) => Target['kubevirt']): World {
  const targets = Object.entries(world.restore.targets).map(([name, target]): [string, Target] => [
    name,
    { ...target, kubevirt: target.kubevirt && change(target.kubevirt) },
  ])
  return { ...world, restore: { ...world.restore, targets: Object.fromEntries(targets) } }
}

function withStatus(world: World, change: (status: World['snapshot']['status']) => World['snapshot']['status']): World {
  return { ...world, snapshot: { ...world.snapshot, status: change(world.snapshot.status) } }
}

function withMembers(restore: Restore, phaseOf: (phase: string) => 'Succeeded' | undefined): Restore {
  const members = (restore.members ?? []).map((one) => ({ ...one, phase: phaseOf(one.phase) ?? one.phase }))
  return { ...restore, members }
}

/** Deliberate defects in what the operator does when people ask for a restore of a point in time. */
export const RESTORE_MUTANTS: readonly Mutant[] = [
  {
    name: 'machines are restored while their lab is on',
    invariant: 5,
    seam: decidedIn((world) => {
      const off = withTargets(world, (kubevirt) => ({ ...kubevirt, isOff: true }))
      return { ...off, restore: { ...off.restore, isLabOff: true } }
    }),
    kind: 'workspacesPointsRestoredCalm',
    seed: 13,
  },
  {
    name: 'a value that comes back restores again',
    invariant: 5,
    seam: decidedIn((world) =>
      withStatus(world, ({ restoreRequest, ...status }) => ({
        ...status,
        ...(restoreRequest !== undefined && { restoreRequest: restoreRequest.split(' ').at(-1) }),
      })),
    ),
    kind: 'workspacesPointsRestoredCalm',
    seed: 4,
  },
  {
    name: 'a machine is restored from the snapshot of another point in time, or of another machine',
    invariant: 5,
    seam: decidedAs((plan, world) => {
      const others = Object.keys(world.found)
      const applyIf = (plan.applyIf ?? []).map((one) => {
        const { spec } = one.wanted as { spec?: { virtualMachineSnapshotName?: string } }
        const [another] = others.filter((name) => name !== spec?.virtualMachineSnapshotName)
        const wanted = { ...one.wanted, spec: { ...spec, virtualMachineSnapshotName: another ?? 'none' } }
        return { ...one, wanted }
      })
      return { ...plan, applyIf }
    }),
    kind: 'workspacesPointsRestoredCalm',
    seed: 8,
  },
  {
    name: 'a machine that is not restored counts as restored',
    invariant: 5,
    seam: decidedAs((plan) => {
      const { restore } = plan.status
      if (restore?.phase !== 'Failed') return plan
      const told: Restore = {
        ...withMembers(restore, (phase) => (phase === 'Failed' ? 'Succeeded' : undefined)),
        phase: 'Succeeded',
      }
      return { ...plan, status: { ...plan.status, restore: told } }
    }),
    kind: 'workspacesPointsRestoredCalm',
    seed: 8,
  },
  {
    name: 'a machine that KubeVirt has restored counts as failed with its request',
    invariant: 5,
    alsoCaughtAs: [7],
    seam: decidedIn((world) => withTargets(world, (kubevirt) => ({ ...kubevirt, lastRestore: '' }))),
    kind: 'workspacesPointsRestoredCalm',
    seed: 13,
  },
  {
    name: 'two points in time of a lab are restored at a time',
    invariant: 5,
    seam: decidedIn((world) => {
      const off = withTargets(world, (kubevirt) => ({ ...kubevirt, isOff: true, restoreInProgress: '' }))
      return { ...off, restore: { ...off.restore, other: undefined } }
    }),
    kind: 'workspacesPointsRestoredCalm',
    seed: 3,
  },
  {
    name: 'the request to KubeVirt stays when a restore has ended',
    invariant: 7,
    seam: decidedAs((plan) => ({ ...plan, remove: [] })),
    kind: 'workspacesPointsRestoredCalm',
  },
  {
    name: 'the request to KubeVirt is deleted before its restore has ended',
    invariant: 5,
    seam: decidedAs((plan, { restore }) => {
      const early = Object.values(restore.found).map(({ object: { apiVersion, kind, metadata } }) => {
        const { uid, resourceVersion, name, namespace } = metadata
        return { apiVersion, kind, name, namespace, uid, resourceVersion }
      })
      return { ...plan, remove: early as unknown as Plan['remove'] }
    }),
    kind: 'workspacesPointsRestoredCalm',
    seed: 8,
  },
  {
    name: 'a restore has succeeded whose claims wait for their first consumer',
    invariant: 5,
    seam: seam(WORKSPACE_SNAPSHOTS.unfilled, 'unfilledIn', (unfilledIn) => (...args) => {
      return { ...unfilledIn(...args), waiting: [] }
    }),
    kind: 'workspacesPointsLateCalm',
  },
  {
    name: 'a point in time goes while its data is nowhere else',
    invariant: 5,
    seam: seam(WORKSPACE_SNAPSHOTS.unfilled, 'mayWait', () => () => false),
    kind: 'workspacesPointsLateCalm',
  },
]
