import type { DataSyncStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { dataSyncThrottleOf } from './status.ts'

const STATUS: DataSyncStatus = { phase: 'Syncing', reason: 'Syncing', message: 'm', ready: '1/3', progress: '40.0%' }

it.each<[string, Partial<DataSyncStatus>, number | undefined, boolean, number | undefined]>([
  ['nothing new', {}, undefined, false, undefined],
  ['its end', { phase: 'Succeeded', reason: 'Synced' }, 0, true, undefined],
  ['trouble', { phase: 'Failed', reason: 'NameConflict' }, 0, true, undefined],
  ['no download for a moment', { phase: 'Queued', reason: 'Queued' }, 500, false, 1_500],
  ['another spec', { observedGeneration: 2 }, 0, true, undefined],
  ['one more image', { ready: '2/3' }, 1_500, false, 500],
  ['one more image, later', { ready: '2/3' }, 2_000, true, undefined],
  ['progress', { progress: '41.0%' }, 10_000, false, 20_000],
  ['progress, later', { progress: '41.0%' }, 30_000, true, undefined],
  ['progress, by a process that has not written yet', { progress: '41.0%' }, undefined, true, undefined],
])('%s', (_name, change, sinceWriteMs, isStatusDue, afterMs) => {
  const throttle = dataSyncThrottleOf(STATUS, { ...STATUS, ...change }, sinceWriteMs)
  expect([throttle.isStatusDue, throttle.requeue?.afterMs]).toEqual([isStatusDue, afterMs])
})
