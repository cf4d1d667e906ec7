import type fc from 'fast-check'
import { SECOND } from '../../prepared/runtime/times.ts'
import { FAMILIES } from '../families.ts'
import type { Schedule } from '../schedule.ts'
import { unseenAfter } from '../unseen.ts'

// Schedules with such a strong emphasis that a few of them reach what is rare in the others.

/**
 * The only DataSync that wants an image is deleted. Shortly before the `unreferencedTTL` of the image ends, another one is created, and no watch
 * event reports it: only a live read finds it.
 */
const dataSyncsUnseen: fc.Arbitrary<Schedule> = FAMILIES.dataSyncsCalm.map((schedule): Schedule => {
  const plan = { namespace: 0, workspace: 0, version: 1, vms: [{ vm: 0, source: 0 }], snapshotClass: 0 }
  return {
    ...schedule,
    replicas: 1,
    policy: { ...schedule.policy, concurrency: 4, more: { unreferencedTTL: '60s' } },
    images: [],
    dataSyncs: [
      { ...plan, createdAtMs: 0 },
      { ...plan, createdAtMs: 50 * SECOND },
    ],
    steps: unseenAfter({ do: 'deleteDataSync', dataSync: 0 }, 'DataSync', 10 * SECOND),
  }
})

/** People have images of their own under the names that DataSyncs need. */
const dataSyncsLate: fc.Arbitrary<Schedule> = FAMILIES.dataSyncsCalm.map((schedule): Schedule => {
  const taken = [0, 1, 2, 3].map((vm) => ({ afterMs: 0, action: { do: 'takeVmName', dataSync: vm, vm } }) as const)
  return {
    ...schedule,
    dataSyncs: schedule.dataSyncs?.map((plan) => ({ ...plan, createdAtMs: plan.createdAtMs + 5 * SECOND })) ?? [],
    steps: [...taken, ...schedule.steps],
  }
})

export const DATA_SYNC_HUNTS = { dataSyncsUnseen, dataSyncsLate } as const
