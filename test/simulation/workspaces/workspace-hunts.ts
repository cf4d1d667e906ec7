import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { FAMILIES } from '../families.ts'
import type { Schedule, Step } from '../schedule.ts'
import { unseenAfter } from '../unseen.ts'
import type { PointAction, PointPlan } from '../workspace-snapshots/point-schedule.ts'
import { PLAYER } from './labs.ts'
import { PLAY_HARMS, type WorkspaceAction, type WorkspacePlan } from './workspace-schedule.ts'

// Schedules with such a strong emphasis that a few of them reach what is rare in the others.

/** Names the image, but deploys nothing. */
const NAMING: Omit<WorkspacePlan, 'createdAtMs'> = {
  vms: [{ vm: 0, image: 0, network: undefined, isIgnored: true }],
  clusters: [],
  networks: [],
  volumes: [],
}

/**
 * The only workspace that names an image is deleted. Shortly before the `unreferencedTTL` of the image ends, another one is created, and no watch
 * event reports it: only a live read finds it.
 */
const workspacesUnseen: fc.Arbitrary<Schedule> = FAMILIES.workspacesCalm.map((schedule): Schedule => {
  return {
    ...schedule,
    replicas: 1,
    policy: { ...schedule.policy, more: { ...schedule.policy.more, unreferencedTTL: '60s' } },
    workspaces: [
      { ...NAMING, createdAtMs: 0 },
      { ...NAMING, createdAtMs: 60 * SECOND },
    ],
    steps: unseenAfter({ do: 'deleteWorkspace', workspace: 0 }, 'Workspace', 20 * SECOND),
  }
})

/** Somebody takes the names that workspaces need, before they are created and while they exist. */
const workspacesLate: fc.Arbitrary<Schedule> = FAMILIES.workspacesCalm.map((schedule): Schedule => {
  const take = (['Deployment', 'ConfigMap', 'NetworkAttachmentDefinition', 'VirtualMachine'] as const).flatMap((kind) =>
    [0, 1, 2].map((number) => {
      return { afterMs: SECOND, action: { do: 'takePartName', workspace: number, kind, number } } as const
    }),
  )
  const home = { afterMs: 0, action: { do: 'takePartName', workspace: 0, kind: 'Namespace', number: 0 } } as const
  const [first, ...others] = schedule.workspaces ?? []
  const workspaces = first === undefined ? [] : [{ ...first, createdAtMs: first.createdAtMs + 2 * SECOND }, ...others]
  return {
    ...schedule,
    workspaces,
    steps: [home, { afterMs: 5 * SECOND, action: { do: 'compact' } }, ...take, ...schedule.steps],
  }
})

/** Again and again somebody stops what plays, in one way or another, and asks for it again while its pod may still run. */
const workspacesImpatient: fc.Arbitrary<Schedule> = FAMILIES.workspacesPlayedCalm.map((schedule): Schedule => {
  const rounds = PLAY_HARMS.flatMap((what): Step[] => [
    { afterMs: 11 * SECOND, action: { do: 'harmPlay', workspace: 0, what, number: 0 } },
    { afterMs: SECOND, action: { do: 'askForPlays', workspace: 0 } },
  ])
  const hang = { do: 'playFault', workspace: 0, fault: 'neverEnds', forMs: 3 * MINUTE } as const
  return {
    ...schedule,
    workspaces: (schedule.workspaces ?? []).map((plan) => ({ ...plan, createdAtMs: 0 })),
    steps: [
      { afterMs: 0, action: { do: 'setPolicy', key: 'ansibleImage', value: PLAYER } },
      { afterMs: 0, action: hang },
      { afterMs: 30 * SECOND, action: { do: 'askForPlays', workspace: 0 } },
      ...rounds,
      ...schedule.steps.slice(0, 8),
    ],
  }
})

/** Labs are switched off and on, again and again, between whatever else happens to them. In the end about half of them are off. */
const switched = (family: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  family.map((schedule): Schedule => {
    const steps = schedule.steps.slice(0, 20).flatMap((step, at): Step[] => {
      const workspace = (step.afterMs + at) % 3
      const afterMs = [SECOND, 20 * SECOND, 2 * MINUTE][at % 3] as number
      return at % 2 === 0 ? [step, { afterMs, action: { do: 'switchLab', workspace } }] : [step]
    })
    return { ...schedule, steps }
  })

const workspacesSwitched = switched(FAMILIES.workspaces)
const workspacesSwitchedCalm = switched(FAMILIES.workspacesCalm)
/** With roles that are played on their machines. */
const workspacesSwitchedPlayed = switched(FAMILIES.workspacesPlayedCalm)

/**
 * Labs get ends, soon and late, and are extended, between whatever else happens to them. All have one at first, at the same time. Those that have none any more
 * get one of the policy, now and then.
 */
const GAP_MS = 40 * SECOND
/** Values of the policy key `workspaceLifetime`, which somebody writes after every few steps. An empty one is none. */
const LIFETIMES = [undefined, '6m', undefined, undefined, '7m', undefined, undefined, '', undefined]
/** At last, one that has no end of its own has that of the policy. */
const ENDED_BY_POLICY: readonly Step[] = [
  { afterMs: 0, action: { do: 'setPolicy', key: 'workspaceLifetime', value: '6m' } },
  { afterMs: 0, action: { do: 'endLab', workspace: 0, afterMs: undefined, onExpiry: 'Delete' } },
  { afterMs: 8 * MINUTE, action: { do: 'endLab', workspace: 1, afterMs: undefined, onExpiry: undefined } },
]
const ending = (family: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  family.map((schedule): Schedule => {
    const first = [0, 1, 2].map((workspace): Step => {
      const onExpiry = workspace === 0 ? 'Halt' : 'Delete'
      const afterMs = 8 * MINUTE - workspace * GAP_MS
      return { afterMs: GAP_MS, action: { do: 'endLab', workspace, afterMs, onExpiry } }
    })
    const steps = schedule.steps.slice(0, 16).flatMap((step, at): Step[] => {
      const gapMs = [5 * SECOND, 90 * SECOND, 5 * MINUTE + 30 * SECOND][at % 3] as number
      const forMs = [0, 2 * MINUTE, 6 * MINUTE, undefined, 20 * MINUTE][(step.afterMs + at) % 5]
      const onExpiry = ([undefined, 'Halt', 'Delete', 'Delete'] as const)[(step.afterMs + 2 * at) % 4]
      const action = { do: 'endLab', workspace: at % 3, afterMs: forMs, onExpiry } as const
      return at % 2 === 0 ? [step, { afterMs: gapMs, action }] : [{ ...step, afterMs: step.afterMs + gapMs }]
    })
    const byPolicy = steps.flatMap((step, at): Step[] => {
      const value = LIFETIMES[at % LIFETIMES.length]
      if (value === undefined) return [step]
      return [step, { afterMs: 0, action: { do: 'setPolicy', key: 'workspaceLifetime', value } }]
    })
    const more = { ...schedule.policy.more, expiryNotice: '5m' }
    return { ...schedule, policy: { ...schedule.policy, more }, steps: [...first, ...byPolicy, ...ENDED_BY_POLICY] }
  })

const workspacesEnding = ending(FAMILIES.workspaces)
const workspacesEndingCalm = ending(FAMILIES.workspacesCalm)

/** Labs are off, KubeVirt restores their machines, to new claims or in place, and they are switched on again, between whatever else happens to them. */
const restored = (family: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  family.map((schedule): Schedule => {
    const steps = schedule.steps.slice(0, 15).flatMap((step, at): Step[] => {
      const workspace = (step.afterMs + at) % 3
      const isInPlace = (step.afterMs + at) % 2 === 0
      const restore = { do: 'restoreVm', workspace, number: at % 2, isInPlace } as const
      const offMs = [SECOND, 20 * SECOND, 2 * MINUTE][at % 3] as number
      const onMs = [2 * MINUTE, SECOND, 20 * SECOND][at % 3] as number
      const round: Step[] = [
        { afterMs: offMs, action: { do: 'switchLab', workspace } },
        { afterMs: 10 * SECOND, action: restore },
        { afterMs: onMs, action: { do: 'switchLab', workspace } },
      ]
      // A guest that runs is waited for.
      return at % 3 === 0 ? [step, ...round] : at % 3 === 1 ? [step, { afterMs: SECOND, action: restore }] : [step]
    })
    return { ...schedule, steps }
  })

const workspacesRestored = restored(FAMILIES.workspaces)
const workspacesRestoredCalm = restored(FAMILIES.workspacesCalm)
const point: fc.Arbitrary<PointPlan> = fc.record({
  workspace: fc.nat(2),
  createdAtMs: fc.nat(8 * MINUTE),
  deletedAfterMs: fc.option(fc.nat(4 * MINUTE), { nil: undefined, freq: 1 }),
  harmedAfterMs: fc.option(fc.nat(20 * SECOND), { nil: undefined, freq: 2 }),
})

/** People take points in time of their labs, delete them, and delete snapshots that are in them, between whatever else happens. */
const pointed = (family: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  fc
    .tuple(family, fc.array(point, { minLength: 4, maxLength: 12, size: 'max' }))
    .map(([schedule, points]) => ({ ...schedule, points }))

const workspacesPoints = pointed(FAMILIES.workspaces)
const workspacesPointsCalm = pointed(FAMILIES.workspacesCalm)

/** A point in time that is soon taken, and stays until somebody deletes it. */
const earlyPoint: fc.Arbitrary<PointPlan> = fc.record({
  workspace: fc.nat(1),
  createdAtMs: fc.integer({ min: 2 * MINUTE, max: 5 * MINUTE }),
  deletedAfterMs: fc.constant(undefined),
  harmedAfterMs: fc.option(fc.nat(4 * MINUTE), { nil: undefined, freq: 1 }),
})

/** Where a round of restores begins: the labs are there, and some points in time are taken. */
const FIRST_ROUND_MS = 3 * MINUTE

interface Round {
  readonly point: number
  readonly kind: number
  readonly gapMs: number
  readonly value: number
  readonly number: number
}

const round: fc.Arbitrary<Round> = fc.record({
  point: fc.nat(5),
  kind: fc.nat(11),
  gapMs: fc.constantFrom(100, 500, 2 * SECOND, 20 * SECOND, 2 * MINUTE),
  value: fc.nat(2),
  number: fc.nat(2),
})

/** People ask for a restore of a point in time and, often, do something else shortly before or after it. Their lab is off meanwhile, mostly. */
function stepsOfRound({ point, kind, gapMs, value, number }: Round, points: readonly PointPlan[]): Step[] {
  const { workspace } = points[point % points.length] as PointPlan
  const other = points.findIndex((one, at) => one.workspace === workspace && at !== point % points.length)
  const scope = kind === 0 && value === 0 ? undefined : 'Machines'
  const ask: PointAction = { do: 'restorePoint', point, value, scope }
  const lab: WorkspaceAction = { do: 'switchLab', workspace }
  const between: readonly (readonly (PointAction | WorkspaceAction)[])[] = [
    [ask],
    [ask, { do: 'restorePoint', point, value: value + number, scope }],
    [ask, lab, lab],
    [ask, { do: 'stopRestore', point, number }],
    [ask, { do: 'deletePoint', point }],
    [ask, { do: 'loseContent', point, number }],
    [{ do: 'resetVm', workspace, number }, ask],
    [ask, { do: 'resetVm', workspace, number }],
    [ask, { do: 'restorePoint', point: Math.max(other, 0), value, scope }],
    [{ do: 'restoreByHand', point, number, policy: value }, ask],
    [ask, { do: 'restoreByHand', point, number, policy: value }],
    [ask, { do: 'restartVm', workspace, number }],
  ]
  const acts = (between[kind] ?? []).map((action, at): Step => ({ afterMs: at === 0 ? 0 : gapMs, action }))
  // One in six is asked for while its lab is on. A lab that was switched on in the middle is off again.
  const isOn = (value + number + kind) % 6 === 0
  const offMs = gapMs < SECOND ? 15 * SECOND : 40 * SECOND
  const [first, ...rest] = acts
  if (isOn || first === undefined) return acts.map((step, at) => (at === 0 ? { ...step, afterMs: offMs } : step))
  return [{ afterMs: 20 * SECOND, action: lab }, { ...first, afterMs: offMs }, ...rest, { afterMs: gapMs, action: lab }]
}

/** People restore points in time of their labs, between whatever else happens to these. */
const pointRestored = (family: fc.Arbitrary<Schedule>, rounds = round): fc.Arbitrary<Schedule> =>
  fc
    .tuple(
      family,
      fc.array(earlyPoint, { minLength: 3, maxLength: 6, size: 'max' }),
      fc.array(rounds, { minLength: 4, maxLength: 8, size: 'max' }),
    )
    .map(([schedule, points, asked]): Schedule => {
      const before = schedule.steps.slice(0, 6)
      const share = Math.ceil(before.length / asked.length)
      const steps = asked.flatMap((one, at): Step[] => [
        ...before.slice(at * share, (at + 1) * share),
        ...stepsOfRound(one, points),
      ])
      const [first] = steps
      const begin = first === undefined ? [] : [{ ...first, afterMs: first.afterMs + FIRST_ROUND_MS }]
      const workspaces = (schedule.workspaces ?? []).slice(0, 2).map(withMachine)
      const more = { ...schedule.policy.more, resetGrace: '4m' }
      return {
        ...schedule,
        policy: { ...schedule.policy, more },
        workspaces,
        points,
        steps: [...begin, ...steps.slice(1)],
      }
    })

/** A lab that soon has a machine. */
function withMachine({ vms, ...plan }: WorkspacePlan): WorkspacePlan {
  const [first = { vm: 0, image: 0, network: undefined }, ...others] = vms
  const deployed = { ...first, image: first.image % 2, isIgnored: false }
  return { ...plan, createdAtMs: plan.createdAtMs % SECOND, vms: [deployed, ...others] }
}

const workspacesPointsRestored = pointRestored(FAMILIES.workspaces)
const workspacesPointsRestoredCalm = pointRestored(FAMILIES.workspacesCalm)

/** Mostly the point in time is asked for, or deleted after that. */
const lateRound = fc
  .tuple(round, fc.nat(2))
  .map(([one, roll]): Round => (roll === 0 ? one : { ...one, kind: 4 * (roll - 1) }))

/** On storage that waits for the pod that first uses it: what is restored has its data only when its lab is on again. */
const late = (family: fc.Arbitrary<Schedule>) =>
  pointRestored(family, lateRound).map((schedule): Schedule => ({ ...schedule, bindsLate: true }))

const workspacesPointsLate = late(FAMILIES.workspaces)
const workspacesPointsLateCalm = late(FAMILIES.workspacesCalm)

/**
 * People set machines back, alone or with their whole lab, give them other images and ask for disks of these, and switch labs off, between whatever else happens.
 * KubeVirt restores some. Old disks are kept for a time that people can wait for.
 */
const reset = (family: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  family.map((schedule): Schedule => {
    const steps = schedule.steps.slice(0, 16).flatMap((step, at): Step[] => {
      const [workspace, number] = [(step.afterMs + at) % 3, (step.afterMs + 2 * at) % 3]
      const gapMs = [2 * SECOND, 25 * SECOND, 90 * SECOND][(step.afterMs + at) % 3] as number
      const rounds: readonly (readonly WorkspaceAction[])[] = [
        [{ do: 'resetVm', workspace, number }],
        [{ do: 'resetLab', workspace }],
        [
          { do: 'changeVmImage', workspace, number, image: step.afterMs % 4 },
          { do: 'rebuildVm', workspace, number },
        ],
        [
          { do: 'resetLab', workspace },
          { do: 'resetVm', workspace, number },
        ],
        [
          { do: 'changeVmImage', workspace, number, image: (step.afterMs + at) % 3 },
          { do: 'rebuildLab', workspace },
        ],
        [
          { do: 'switchLab', workspace },
          { do: 'resetVm', workspace, number },
          { do: 'switchLab', workspace },
        ],
        [
          { do: 'restoreVm', workspace, number, isInPlace: at % 2 === 0 },
          { do: 'resetVm', workspace, number },
        ],
      ]
      const round = rounds[(step.afterMs + at) % rounds.length] as readonly WorkspaceAction[]
      return [step, ...round.map((action) => ({ afterMs: gapMs, action }))]
    })
    const more = { ...schedule.policy.more, resetGrace: '4m' }
    return { ...schedule, policy: { ...schedule.policy, more }, steps }
  })

const workspacesReset = reset(FAMILIES.workspaces)
const workspacesResetCalm = reset(FAMILIES.workspacesCalm)

/** The same with room for no second disk at first. Of two that wait for room, one is given up. */
const workspacesResetFull = workspacesResetCalm.map((schedule): Schedule => {
  const steps = schedule.steps.flatMap((step, at): Step[] => {
    const { action } = step
    if (!['resetLab', 'resetVm', 'rebuildLab', 'rebuildVm'].includes(action.do) || !('workspace' in action))
      return [step]
    const { workspace } = action
    const givenUp: Step[] = at % 2 === 0 ? [{ afterMs: 20_000, action: { do: 'giveUpDisks', workspace } }] : []
    return [
      { afterMs: 0, action: { do: 'fillWorkspace', workspace, forMs: 2 * MINUTE } },
      { ...step, afterMs: step.afterMs + 2_000 },
      ...givenUp,
    ]
  })
  return { ...schedule, steps }
})

export const WORKSPACE_HUNTS = {
  workspacesUnseen,
  workspacesLate,
  workspacesImpatient,
  workspacesSwitched,
  workspacesSwitchedCalm,
  workspacesSwitchedPlayed,
  workspacesEnding,
  workspacesEndingCalm,
  workspacesRestored,
  workspacesRestoredCalm,
  workspacesPoints,
  workspacesPointsCalm,
  workspacesPointsRestored,
  workspacesPointsRestoredCalm,
  workspacesPointsLate,
  workspacesPointsLateCalm,
  workspacesReset,
  workspacesResetCalm,
  workspacesResetFull,
} as const
