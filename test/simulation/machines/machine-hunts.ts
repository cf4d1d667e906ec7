import { RUN_STRATEGIES } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { FAMILIES } from '../families.ts'
import type { PolicyPlan, Schedule, Step } from '../schedule.ts'
import type { MachinePlan } from './machine-schedule.ts'

// Schedules with such a strong emphasis that a few of them reach what is rare in the others.

const plain: MachinePlan = { source: 0, createdAtMs: 0, interfaces: 1, hasSecret: false, ignoreOnDeploy: false }

function likeThis(more: Partial<Schedule>): fc.Arbitrary<Schedule> {
  return FAMILIES.machinesCalm.map((schedule) => ({ ...schedule, replicas: 1, ...more }))
}

/** Returns the policy with these keys. A key that is undefined, such as `unreferencedTTL`, is removed. */
function timed({ more = {}, ...policy }: PolicyPlan, keys: Readonly<Record<string, string | undefined>>): PolicyPlan {
  const all = Object.entries({ ...more, ...keys }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...policy, more: Object.fromEntries(all) }
}

/** Returns the machines of the schedule, all of which are to run at once. */
function ready({ machines = [] }: Schedule): MachinePlan[] {
  return machines.map((machine) => ({ ...machine, hasSecret: false, ignoreOnDeploy: false }))
}

/** No watch event reports the disk that the operator requested, and the image is deleted meanwhile: only a live read finds its user. */
const machinesUnseen: fc.Arbitrary<Schedule> = fc
  .tuple(likeThis({}), fc.integer({ min: 20, max: 60 }))
  .map(([schedule, afterSeconds]): Schedule => {
    const kind = 'DataVolume'
    const steps: Step[] = [
      {
        afterMs: 10 * SECOND,
        action: { do: 'watchFaults', fault: 'frozen', percent: 100, forMs: 4 * MINUTE, kind },
      },
      {
        afterMs: 0,
        action: { do: 'requestFaults', fault: 'loseAnswer', percent: 100, forMs: 8 * SECOND, kind },
      },
      { afterMs: afterSeconds * SECOND, action: { do: 'deleteSource', source: 0 } },
      { afterMs: 2 * MINUTE, action: { do: 'compact' } },
    ]
    return {
      ...schedule,
      cloneMs: 2 * MINUTE,
      policy: timed(schedule.policy, { vmProvisionTimeout: '120s', unreferencedTTL: undefined }),
      sources: [{ hasSnapshot: true, bindsLate: false, isMadeByPerson: true }],
      machines: [{ ...plain, createdAtMs: 12 * SECOND }],
      steps,
    }
  })

/** Images are refreshed while machines run from their disks, and the sources of those disks are deleted. */
const machinesRefreshed: fc.Arbitrary<Schedule> = likeThis({}).map(
  (schedule): Schedule => ({
    ...schedule,
    sources: schedule.sources?.map((source) => ({ ...source, hasSnapshot: true })) ?? [],
    machines: schedule.machines?.map((machine) => ({ ...machine, ignoreOnDeploy: false })) ?? [],
    steps: [0, 1].map((source) => ({ afterMs: MINUTE, action: { do: 'refreshSource', source } })),
  }),
)

/** One machine after the other is created for an image that is being deleted and has a user. */
const machinesLate: fc.Arbitrary<Schedule> = likeThis({}).map(
  (schedule): Schedule => ({
    ...schedule,
    cloneMs: 100,
    sources: schedule.sources?.slice(0, 1) ?? [],
    machines: [0, 20, 40, 50].map((seconds) => ({ ...plain, createdAtMs: seconds * SECOND })),
    steps: [{ afterMs: 15 * SECOND, action: { do: 'deleteSource', source: 0 } }],
  }),
)

/** Machines are created while the Secret with their passwords is missing. Only its watch event reports that it is back. */
const machinesLocked: fc.Arbitrary<Schedule> = likeThis({}).map(
  (schedule): Schedule => ({
    ...schedule,
    machines: ready(schedule).map((machine) => ({ ...machine, hasSecret: true })),
    steps: [0, 3 * MINUTE].map((afterMs) => ({ afterMs, action: { do: 'toggleLogin' } })),
  }),
)

/** The watch event of a deletion is lost: only the next list shows that the object is gone. */
const machinesForgotten: fc.Arbitrary<Schedule> = likeThis({}).map(
  (schedule): Schedule => ({
    ...schedule,
    machines: ready(schedule),
    steps: [
      {
        afterMs: 3 * MINUTE,
        action: { do: 'watchFaults', fault: 'lost', percent: 100, forMs: 10 * SECOND, kind: 'Secret' },
      },
      {
        afterMs: SECOND,
        action: { do: 'deleteMachineChild', machine: 0, kind: 'Secret', propagationPolicy: 'Background' },
      },
    ],
  }),
)

/** With quick disks, and kicks after half a minute. */
const quicklyKicked = (schedule: Schedule): Schedule => ({
  ...schedule,
  cloneMs: 100,
  policy: timed(schedule.policy, { kickLimit: '3', vmProvisionTimeout: '30s' }),
  machines: ready(schedule),
})

/** Guests hang for long, and people lower `kickLimit` after some of them were kicked. */
const machinesLowered: fc.Arbitrary<Schedule> = fc.tuple(likeThis({}), fc.integer({ min: 40, max: 80 }), fc.nat(1)).map(
  ([schedule, afterSeconds, limit]): Schedule => ({
    ...quicklyKicked(schedule),
    steps: [
      {
        afterMs: 0,
        action: { do: 'guestFault', machine: undefined, fault: 'neverReady', times: 1, forMs: 10 * MINUTE },
      },
      { afterMs: afterSeconds * SECOND, action: { do: 'setPolicy', key: 'kickLimit', value: String(limit) } },
      { afterMs: 5 * MINUTE, action: { do: 'compact' } },
    ],
  }),
)

/** Guests that are well do not look so for longer than any time limit: they are paused, or only their pods are not ready. */
const machinesStill: fc.Arbitrary<Schedule> = fc
  .tuple(
    likeThis({}),
    fc.constantFrom('PausedByUser' as const, 'PausedIOError' as const, 'podUnready' as const),
    fc.integer({ min: 40, max: 80 }),
  )
  .map(
    ([schedule, fault, afterSeconds]): Schedule => ({
      ...quicklyKicked(schedule),
      steps: [
        {
          afterMs: afterSeconds * SECOND,
          action: { do: 'guestFault', machine: undefined, fault, times: 1, forMs: 5 * MINUTE },
        },
        { afterMs: 6 * MINUTE, action: { do: 'compact' } },
      ],
    }),
  )

/** Guests without an agent are not ready for a moment, virt-controller stops, and they are well again: nothing reports that. */
const machinesFrozen: fc.Arbitrary<Schedule> = fc.tuple(likeThis({}), fc.integer({ min: 60, max: 100 })).map(
  ([schedule, afterSeconds]): Schedule => ({
    ...quicklyKicked(schedule),
    policy: timed(schedule.policy, { kickLimit: '3', vmProvisionTimeout: '120s' }),
    machines: ready(schedule).map((one) => ({ ...one, createdAtMs: 0 })),
    steps: [
      { afterMs: 0, action: { do: 'guestFault', machine: undefined, fault: 'noAgent', times: 1, forMs: 20 * MINUTE } },
      {
        afterMs: afterSeconds * SECOND,
        action: { do: 'guestFault', machine: undefined, fault: 'podUnready', times: 1, forMs: 6 * SECOND },
      },
      { afterMs: 3 * SECOND, action: { do: 'stopKubevirt', forMs: 4 * MINUTE } },
      { afterMs: 8 * MINUTE, action: { do: 'compact' } },
    ],
  }),
)

/** Machines are created while the namespace of their image is missing. Only its watch event reports that it is back. */
const machinesOutcast: fc.Arbitrary<Schedule> = fc.tuple(likeThis({}), fc.integer({ min: 30, max: 90 })).map(
  ([schedule, awaySeconds]): Schedule => ({
    ...schedule,
    sources: schedule.sources?.map((source) => ({ ...source, isMadeByPerson: false })) ?? [],
    machines: schedule.machines?.map((one) => ({ ...one, createdAtMs: 20 * SECOND, hasSecret: false })) ?? [],
    steps: [
      {
        afterMs: 10 * SECOND,
        action: { do: 'deleteNamespace', namespace: 1, forMs: awaySeconds * SECOND },
      },
    ],
  }),
)

/** Machines are off, and somebody deletes KubeVirt's object of one of them. There is no instance whose watch event would report it. */
const machinesOff: fc.Arbitrary<Schedule> = likeThis({}).map(
  (schedule): Schedule => ({
    ...schedule,
    cloneMs: 100,
    machines: ready(schedule),
    steps: [
      ...ready(schedule).map((_plan, machine): Step => switched(machine, 'Halted', machine === 0 ? 70 * SECOND : 0)),
      {
        afterMs: 3 * MINUTE,
        action: { do: 'deleteMachineChild', machine: 0, kind: 'VirtualMachine', propagationPolicy: 'Background' },
      },
    ],
  }),
)

/** Machines are off, KubeVirt restores them from snapshots, to new claims or in place, and they are switched on again. */
const machinesRestored: fc.Arbitrary<Schedule> = fc.tuple(likeThis({}), fc.nat(2), fc.nat(3)).map(
  ([schedule, number, trouble]): Schedule => ({
    ...schedule,
    cloneMs: 100,
    machines: ready(schedule),
    steps: [
      ...ready(schedule).map((_plan, machine): Step => switched(machine, 'Halted', machine === 0 ? 70 * SECOND : 0)),
      // The restore is seen late, or in another order than it happens.
      ...(trouble === 0
        ? []
        : [
            {
              afterMs: 50 * SECOND,
              action: {
                do: 'watchFaults' as const,
                fault: 'frozen' as const,
                percent: 100,
                forMs: 10 * SECOND,
                kind: ['VirtualMachine', 'DataVolume', 'PersistentVolumeClaim'][trouble - 1] ?? '',
              },
            },
          ]),
      ...ready(schedule).map((_plan, machine): Step => {
        const isInPlace = machine % 2 === number % 2
        return { afterMs: machine === 0 ? 5 * SECOND : 0, action: { do: 'restore', machine, isInPlace } }
      }),
      ...ready(schedule).map((_plan, machine): Step => switched(machine, 'Always', machine === 0 ? 2 * MINUTE : 0)),
    ],
  }),
)

function switched(machine: number, runStrategy: (typeof RUN_STRATEGIES)[number], afterMs: number): Step {
  const value = RUN_STRATEGIES.indexOf(runStrategy)
  return { afterMs, action: { do: 'editMachine', machine, field: 'runStrategy', value } }
}

/** The template of a machine is corrected while its image waits for a slot. The image is corrected only if no other machine names it. */
const machinesCorrected: fc.Arbitrary<Schedule> = fc.tuple(likeThis({}), fc.integer({ min: 1, max: 3 })).map(
  ([schedule, machines]): Schedule => ({
    ...schedule,
    sources: [{ hasSnapshot: true, bindsLate: false, isMadeByPerson: false }],
    machines: Array.from({ length: machines }, (_, number) => ({ ...plain, createdAtMs: (5 + 5 * number) * SECOND })),
    steps: [
      { afterMs: 0, action: { do: 'setPolicy', key: 'concurrency', value: '0' } },
      { afterMs: MINUTE, action: { do: 'correctTemplate', machine: 0, diskSize: '3Gi' } },
      { afterMs: MINUTE, action: { do: 'setPolicy', key: 'concurrency', value: '4' } },
    ],
  }),
)

export const MACHINE_HUNTS = {
  machinesUnseen,
  machinesRefreshed,
  machinesLate,
  machinesLocked,
  machinesForgotten,
  machinesLowered,
  machinesStill,
  machinesFrozen,
  machinesOutcast,
  machinesOff,
  machinesRestored,
  machinesCorrected,
} as const
