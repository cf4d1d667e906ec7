import {
  type DeploymentObject,
  podNetworksIn,
  type WorkspaceComponent,
  type WorkspaceSpec,
  type WorkspaceStatus,
  workspace,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomWorkspace } from '../../../../test/prepared/children/random-workspaces.ts'
import { expectLawful } from '../../../../test/prepared/runtime/plan-laws.ts'
import { NOW, PlannedWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { idOf, idOfObject } from './component.ts'
import { KINDS } from './kinds.ts'
import { secretNamesIn } from './missing-secrets.ts'
import { planWorkspace } from './plan.ts'

const RUNS = { numRuns: 60 }
/** More than any of them needs: namespace and images; networks, volumes and plays; what runs; removals kind by kind; and an empty plan. */
const ROUNDS_MAX = 10

const ORDER: ReadonlyMap<string, number> = new Map(
  KINDS.flatMap(({ types }, at) => types.map(({ type }) => [type.kind, at] as const)),
)

/** Plans, and carries out each plan, until a plan is empty. Returns what the plans asked for, round by round. */
function settle(
  planned: PlannedWorld,
  throttle?: 'paced',
): { readonly apply: readonly KubeObject[]; readonly remove: readonly { kind: string; name: string }[] }[] {
  const rounds = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const plan = planWorkspace(planned.world, NOW)
    expect(planWorkspace(planned.world, NOW)).toEqual(plan)
    expectLawful(planned.world.workspace, plan, workspace.status)
    if (throttle === 'paced') planned.takePaced(plan)
    else planned.take(plan)
    if (plan.apply.length + plan.remove.length === 0) return rounds
    rounds.push(plan)
  }
  throw new Error(`not settled after ${ROUNDS_MAX} rounds`)
}

function wantedIn(planned: PlannedWorld): string[] {
  return planned.world.components
    .flatMap(({ held, objects }) => (held === undefined ? objects.map(idOfObject) : []))
    .toSorted()
}

function attachedIn({ children }: PlannedWorld): Set<string> {
  const templates = [...children.values()].flatMap((one) =>
    one.kind === 'Deployment' ? (one as unknown as DeploymentObject).spec.template : [],
  )
  const networks = templates.flatMap(({ metadata }) => podNetworksIn(metadata.annotations))
  const volumes = templates.flatMap(({ spec: { volumes: all = [] } }) => all)
  const files = volumes.flatMap((one) => ('projected' in one ? one.projected.sources : []))
  return new Set([
    ...networks.map(({ name }) => `NetworkAttachmentDefinition ${name}`),
    ...files.flatMap((one) => ('configMap' in one ? `ConfigMap ${one.configMap.name}` : [])),
  ])
}

const spec: fc.Arbitrary<WorkspaceSpec> = randomWorkspace.map((one) => one.spec)

describe('plans of random workspaces', () => {
  it('lead from nothing to all that is wanted, and then to no plan at all', () => {
    fc.assert(
      fc.property(spec, (one) => {
        const planned = new PlannedWorld(one)
        planned.allImagesReady()
        settle(planned)
        expect([...planned.children.keys()].toSorted()).toEqual(wantedIn(planned))
        const { components = [] } = planned.status
        expect(components.filter(({ phase }) => phase === 'Provisioning')).toEqual([])
      }),
      RUNS,
    )
  })

  it('create nothing before what it needs', () => {
    fc.assert(
      fc.property(spec, (one) => {
        const planned = new PlannedWorld(one)
        // While its images are not ready, a workspace has nothing but its namespace component and its Secrets.
        const isEarly = ({ kind }: KubeObject) => ORDER.get(kind) === 0 || kind === 'VMDiskImage' || kind === 'Secret'
        for (const { apply } of settle(planned)) if ((one.vms ?? []).length > 0) expect(apply.every(isEarly)).toBe(true)
        planned.allImagesReady()
        for (const round of settle(planned)) {
          const places = round.apply.map(({ kind }) => ORDER.get(kind) ?? 0)
          expect(places).toEqual(places.toSorted((a, b) => a - b))
        }
      }),
      RUNS,
    )
  })

  it('lead from any workspace to any other, and leave nothing behind', () => {
    fc.assert(
      fc.property(spec, spec, (one, other) => {
        const planned = new PlannedWorld(one)
        planned.allImagesReady()
        settle(planned)
        planned.spec = other
        planned.allImagesReady()
        for (const { remove } of settle(planned)) {
          const kinds = new Set(remove.map(({ kind }) => KINDS[ORDER.get(kind) ?? 0]))
          const used = [...kinds].flatMap((kind) => kind?.uses ?? [])
          expect([...kinds].filter((kind) => used.includes(kind?.kind ?? ''))).toEqual([])
        }
        const wanted = new Set(planned.world.components.flatMap(({ objects }) => objects.map(idOfObject)))
        // A cluster that the policy does not allow any more stays as it is, and so do the networks and the files of its pods. A Secret stays whose members
        // get its values from somebody else now.
        const isKept = (id: string) =>
          attachedIn(planned).has(id) || secretNamesIn(other).some((name) => id === idOf('Secret', name))
        const left = [...planned.children.keys()].filter((id) => !wanted.has(id) && !isKept(id))
        expect(left).toEqual([])
        expect(wantedIn(planned).filter((id) => !planned.children.has(id))).toEqual([])
      }),
      RUNS,
    )
  })

  it('remove all of a workspace that is deleted, the last kind first, and nothing of anybody else', () => {
    fc.assert(
      fc.property(spec, fc.nat(3), (one, rounds) => {
        const planned = new PlannedWorld(one)
        planned.allImagesReady()
        // The deletion comes at any point of the rollout.
        for (let round = 0; round < rounds; round += 1) planned.take(planWorkspace(planned.world, NOW))
        planned.deletionTimestamp = '2026-01-31T12:00:00Z'
        const ours = new Set(planned.children.keys())
        const removed = settle(planned).flatMap(({ apply, remove }) => {
          expect(apply).toEqual([])
          return remove
        })
        const places = removed.map(({ kind }) => ORDER.get(kind) ?? 0)
        expect(places).toEqual(places.toSorted((a, b) => b - a))
        expect(removed.every(({ kind, name }) => ours.has(`${kind} ${name}`))).toBe(true)
        expect([planned.children.size, planWorkspace(planned.world, NOW).finalizer]).toEqual([0, 'release'])
      }),
      RUNS,
    )
  })

  it('make nothing that held data again before somebody asks, whatever comes before and after its loss, and then all of it', () => {
    const steps = fc.array(fc.constantFrom(...STEPS), { maxLength: 5 })
    // Where something else is Failed before the loss, the phase does not change with it.
    const stepsBefore = fc.tuple(steps, fc.constantFrom<Step>('none', 'failing')).map(([some, last]) => [...some, last])
    const losing = fc.constantFrom(...LOSING)
    fc.assert(
      fc.property(spec, stepsBefore, losing, fc.nat(), steps, (one, before, how, number, after) => {
        const planned = new PlannedWorld(one)
        planned.allImagesReady()
        settle(planned)
        const held = withData(planned)
        const volumes = held.filter((id) => id.startsWith('PersistentVolumeClaim '))
        // A machine that somebody deletes is to begin again. One that goes with its namespace is not.
        const lost = how === 'namespace' ? held : volumes.filter((_, at) => at === number % volumes.length)
        fc.pre(lost.length > 0)
        planned.rebuildRequestedAt = 'before'
        for (const step of before) {
          CHANGES[step](planned, one, lost)
          settle(planned)
        }
        lose(planned, how, lost)
        for (const step of ['none', ...after, ...UNDO] as const) {
          CHANGES[step](planned, one, lost)
          expect(touchedIn(settle(planned, 'paced')).filter((id) => lost.includes(id))).toEqual([])
          const now = planWorkspace(planned.world, NOW).status
          expect([now.phase, now.message]).toEqual(['Failed', expect.stringMatching(/ is gone| is lost/)])
          if (planned.unusable !== undefined) continue
          expect(holdersIn(planned, now, ({ message }) => message?.includes(' is gone') === true)).toEqual(
            expect.arrayContaining(lost),
          )
        }
        const told = planWorkspace(planned.world, NOW).status
        expect(holdersIn(planned, told, ({ reason }) => LOSSES.has(reason)).toSorted()).toEqual(lost.toSorted())
        expect([told.phase, LOSSES.has(told.reason ?? '')]).toEqual(['Failed', true])
        planned.rebuildRequestedAt = 'now'
        // All writes but that of the status fail the first time.
        planned.status = planWorkspace(planned.world, NOW).status
        settle(planned, 'paced')
        const asked = planWorkspace(planned.world, NOW).status
        expect(holdersIn(planned, asked, ({ reason }) => LOSSES.has(reason))).toEqual([])
        // Some wait for others, such as the first pod of their node group.
        const waiting = holdersIn(planned, asked, ({ phase }) => phase === 'Provisioning')
        expect(lost.filter((id) => !(planned.children.has(id) || waiting.includes(id)))).toEqual([])
      }),
      RUNS,
    )
  })
})

const LOSING = ['namespace', 'claim', 'storage'] as const

/** Takes away what held data. */
function lose(planned: PlannedWorld, how: (typeof LOSING)[number], lost: readonly string[]): void {
  const { children } = planned
  for (const id of how === 'namespace' ? [...children.keys()] : lost) {
    const child = children.get(id) as KubeObject
    if (how === 'storage') children.set(id, { ...child, phase: 'Lost' } as KubeObject)
    else children.delete(id)
  }
}

const FOREIGN: KubeObject = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'any', uid: 'foreign' } }

/** What may come before and after a loss. None of it asks for what is lost. */
const CHANGES = {
  none: () => {},
  invalid: (planned) => {
    planned.unusable = 'InvalidSpec'
  },
  tooLarge: (planned) => {
    planned.unusable = 'TooLarge'
  },
  usable: (planned) => {
    planned.unusable = undefined
  },
  folders: (planned) => planned.changePolicy({ localVolumeRoot: '/srv' }),
  noFolders: (planned) => planned.changePolicy({ localVolumeRoot: undefined }),
  notDeployed: (planned, { vms = [], ...rest }) => {
    planned.spec = { ...rest, vms: vms.map((vm) => ({ ...vm, ignoreOnDeploy: true })) }
  },
  deployed: (planned, one) => {
    planned.spec = one
  },
  namesTaken: (planned, _, lost) => {
    for (const id of lost) planned.namesakes.set(id, FOREIGN)
  },
  failing: (planned) => {
    const id = [...planned.children.keys()].find((one) => one.startsWith('NetworkPolicy '))
    if (id === undefined) return
    planned.children.delete(id)
    planned.namesakes.set(id, FOREIGN)
  },
  namesFree: (planned) => planned.namesakes.clear(),
} satisfies Readonly<Record<string, (planned: PlannedWorld, spec: WorkspaceSpec, lost: readonly string[]) => void>>
type Step = keyof typeof CHANGES
const STEPS = Object.keys(CHANGES) as Step[]
const UNDO = ['usable', 'noFolders', 'deployed', 'namesFree'] as const

/** Returns the ids of what was written and removed. */
function touchedIn(rounds: ReturnType<typeof settle>): string[] {
  return rounds.flatMap(({ apply, remove }) => [
    ...apply.map(idOfObject),
    ...remove.map(({ kind, name }) => idOf(kind, name)),
  ])
}

/** Returns the ids of the claims and machines of the components with such a row in a status. */
function holdersIn(
  { world }: PlannedWorld,
  { components = [] }: WorkspaceStatus,
  isSuch: (row: WorkspaceComponent) => boolean,
): string[] {
  return world.components.flatMap(({ kind, name, objects }) =>
    components.some((row) => row.kind === kind && row.name === name && isSuch(row))
      ? objects.map(idOfObject).filter((id) => /^(PersistentVolumeClaim|VirtualMachine) /.test(id))
      : [],
  )
}

const LOSSES: ReadonlySet<string> = new Set(['VolumeLost', 'DiskLost'])

/** Runs all guests. Returns the ids of the claims and machines whose data cannot be made again. */
function withData(planned: PlannedWorld): string[] {
  for (const [id, child] of planned.children)
    if (child.kind === 'VirtualMachine') {
      const { status } = child as KubeObject & { readonly status: object }
      planned.children.set(id, { ...child, status: { ...status, bootedAt: '2026-01-01T00:00:00Z' } } as KubeObject)
    }
  settle(planned)
  const isHeld = new Set(
    planned.world.components.flatMap(({ held, kind, name }) => (held === undefined ? [] : [idOf(kind, name)])),
  )
  return [...planned.children.values()]
    .filter(({ kind }) => kind === 'PersistentVolumeClaim' || kind === 'VirtualMachine')
    .map(idOfObject)
    .filter((id) => !isHeld.has(id))
}
