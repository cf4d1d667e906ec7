import { RUN_STRATEGIES } from '@open-terrain/constructs'
import fc from 'fast-check'
import { MACHINE_FAMILIES } from './machine-arbitraries.ts'
import type { MachinePlan, MachineSchedule, MachineStep } from './machine-schedule.ts'

// Schedules that lean so far to one side that few of them are enough to meet what is rare in the others.

const SECOND = 1_000
const MINUTE = 60 * SECOND

const plain: MachinePlan = { image: 0, createdAtMs: 0, interfaces: 1, hasSecret: false, ignoreOnDeploy: false }

function likeThis(more: Partial<MachineSchedule>): fc.Arbitrary<MachineSchedule> {
  return MACHINE_FAMILIES.machinesCalm.map((schedule) => ({ ...schedule, replicas: 1, ...more }))
}

/** Nobody tells the operator of the disk that it asked for, and the image is deleted meanwhile: only a live look finds its user. */
export const machinesUnseen: fc.Arbitrary<MachineSchedule> = fc
  .tuple(likeThis({}), fc.integer({ min: 20, max: 60 }))
  .map(([schedule, afterSeconds]): MachineSchedule => {
    const kind = 'DataVolume'
    const steps: MachineStep[] = [
      {
        afterMs: 10 * SECOND,
        action: { do: 'watchFaults', fault: 'frozen', percent: 100, forMs: 4 * MINUTE, kind },
      },
      {
        afterMs: 0,
        action: { do: 'requestFaults', fault: 'loseAnswer', percent: 100, forMs: 8 * SECOND, kind },
      },
      { afterMs: afterSeconds * SECOND, action: { do: 'deleteImage', image: 0 } },
      { afterMs: 2 * MINUTE, action: { do: 'compact' } },
    ]
    return {
      ...schedule,
      cloneMs: 2 * MINUTE,
      policy: { ...schedule.policy, provisionTimeoutSeconds: 120, ttlSeconds: undefined },
      images: [{ hasSnapshot: true, bindsLate: false, isMadeByPerson: true }],
      machines: [{ ...plain, createdAtMs: 12 * SECOND }],
      steps,
    }
  })

/** Images are refreshed when machines run from their disks, and what those were cloned from goes. */
export const machinesRefreshed: fc.Arbitrary<MachineSchedule> = likeThis({}).map(
  (schedule): MachineSchedule => ({
    ...schedule,
    images: schedule.images.map((image) => ({ ...image, hasSnapshot: true })),
    machines: schedule.machines.map((machine) => ({ ...machine, ignoreOnDeploy: false })),
    steps: [0, 1].map((image) => ({ afterMs: MINUTE, action: { do: 'refreshImage', image } })),
  }),
)

/** One machine after the other comes to an image that is to go, and has a user. */
export const machinesLate: fc.Arbitrary<MachineSchedule> = likeThis({}).map(
  (schedule): MachineSchedule => ({
    ...schedule,
    cloneMs: 100,
    images: schedule.images.slice(0, 1),
    machines: [0, 20, 40, 50].map((seconds) => ({ ...plain, createdAtMs: seconds * SECOND })),
    steps: [{ afterMs: 15 * SECOND, action: { do: 'deleteImage', image: 0 } }],
  }),
)

/** Machines come while the Secret with their passwords is away, and nothing but its return tells of it. */
export const machinesLocked: fc.Arbitrary<MachineSchedule> = likeThis({}).map(
  (schedule): MachineSchedule => ({
    ...schedule,
    machines: schedule.machines.map((machine) => ({ ...machine, hasSecret: true, ignoreOnDeploy: false })),
    steps: [0, 3 * MINUTE].map((afterMs) => ({ afterMs, action: { do: 'toggleSecret' } })),
  }),
)

/** The event that tells of a deletion is lost: what is gone is only lacking in the next list. */
export const machinesForgotten: fc.Arbitrary<MachineSchedule> = likeThis({}).map(
  (schedule): MachineSchedule => ({
    ...schedule,
    machines: schedule.machines.map((machine) => ({ ...machine, hasSecret: false, ignoreOnDeploy: false })),
    steps: [
      {
        afterMs: 3 * MINUTE,
        action: { do: 'watchFaults', fault: 'lost', percent: 100, forMs: 10 * SECOND, kind: 'Secret' },
      },
      {
        afterMs: SECOND,
        action: { do: 'deleteChild', machine: 0, kind: 'Secret', propagationPolicy: 'Background' },
      },
    ],
  }),
)

/** Guests hang for long, and people lower the limit of kicks when some of them were kicked. */
export const machinesLowered: fc.Arbitrary<MachineSchedule> = fc
  .tuple(likeThis({}), fc.integer({ min: 40, max: 80 }), fc.nat(1))
  .map(
    ([schedule, afterSeconds, limit]): MachineSchedule => ({
      ...schedule,
      cloneMs: 100,
      policy: { ...schedule.policy, kickLimit: 3, provisionTimeoutSeconds: 30 },
      machines: schedule.machines.map((machine) => ({ ...machine, hasSecret: false, ignoreOnDeploy: false })),
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
export const machinesStill: fc.Arbitrary<MachineSchedule> = fc
  .tuple(
    likeThis({}),
    fc.constantFrom('PausedByUser' as const, 'PausedIOError' as const, 'podUnready' as const),
    fc.integer({ min: 40, max: 80 }),
  )
  .map(
    ([schedule, fault, afterSeconds]): MachineSchedule => ({
      ...schedule,
      cloneMs: 100,
      policy: { ...schedule.policy, kickLimit: 3, provisionTimeoutSeconds: 30 },
      machines: schedule.machines.map((machine) => ({ ...machine, hasSecret: false, ignoreOnDeploy: false })),
      steps: [
        {
          afterMs: afterSeconds * SECOND,
          action: { do: 'guestFault', machine: undefined, fault, times: 1, forMs: 5 * MINUTE },
        },
        { afterMs: 6 * MINUTE, action: { do: 'compact' } },
      ],
    }),
  )

/** Machines come when the namespace that their image is to be made in is away; only its return tells of it. */
export const machinesOutcast: fc.Arbitrary<MachineSchedule> = fc
  .tuple(likeThis({}), fc.integer({ min: 30, max: 90 }))
  .map(
    ([schedule, awaySeconds]): MachineSchedule => ({
      ...schedule,
      images: schedule.images.map((image) => ({ ...image, isMadeByPerson: false })),
      machines: schedule.machines.map((machine) => ({ ...machine, createdAtMs: 20 * SECOND, hasSecret: false })),
      steps: [
        {
          afterMs: 10 * SECOND,
          action: { do: 'deleteNamespace', namespace: 'farm', forMs: awaySeconds * SECOND },
        },
      ],
    }),
  )

/** Machines are off, and somebody deletes what KubeVirt has of one of them: there is no instance that would tell of it. */
export const machinesOff: fc.Arbitrary<MachineSchedule> = likeThis({}).map(
  (schedule): MachineSchedule => ({
    ...schedule,
    cloneMs: 100,
    machines: schedule.machines.map((machine) => ({ ...machine, hasSecret: false, ignoreOnDeploy: false })),
    steps: [
      ...schedule.machines.map((_plan, machine): MachineStep => {
        const action = { do: 'edit', machine, field: 'runStrategy', value: RUN_STRATEGIES.indexOf('Halted') } as const
        return { afterMs: machine === 0 ? 70 * SECOND : 0, action }
      }),
      {
        afterMs: 3 * MINUTE,
        action: { do: 'deleteChild', machine: 0, kind: 'VirtualMachine', propagationPolicy: 'Background' },
      },
    ],
  }),
)

/** The template of a machine is corrected while its image waits for a slot: alone it has the image corrected, and beside another machine it has not. */
export const machinesCorrected: fc.Arbitrary<MachineSchedule> = fc
  .tuple(likeThis({}), fc.integer({ min: 1, max: 3 }))
  .map(
    ([schedule, machines]): MachineSchedule => ({
      ...schedule,
      images: [{ hasSnapshot: true, bindsLate: false, isMadeByPerson: false }],
      machines: Array.from({ length: machines }, (_, number) => ({ ...plain, createdAtMs: (5 + 5 * number) * SECOND })),
      steps: [
        { afterMs: 0, action: { do: 'setPolicy', key: 'concurrency', value: '0' } },
        { afterMs: MINUTE, action: { do: 'correctTemplate', machine: 0, diskSize: '3Gi' } },
        { afterMs: MINUTE, action: { do: 'setPolicy', key: 'concurrency', value: '4' } },
      ],
    }),
  )
