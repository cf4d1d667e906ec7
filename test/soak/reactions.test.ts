import { expect, it } from 'vitest'
import type { SeenEvent } from '../harness/etcd-history.ts'
import { reactionTimes } from './reactions.ts'

function event(at: number, generation: number, observedGeneration: number | undefined, more: object = {}): SeenEvent {
  const metadata = { name: 'a', uid: 'uid-a', generation, ...more }
  const object = { apiVersion: 'v1', kind: 'VMDiskImage', metadata, status: { observedGeneration } }
  return { kind: 'VMDiskImage', type: 'MODIFIED', at, object } as SeenEvent
}

it('counts from the first event of a generation to the first status of it', () => {
  const events = [event(0, 1, undefined), event(5, 1, undefined), event(30, 1, 1), event(90, 1, 1)]
  expect(reactionTimes([...events, event(100, 2, 1), event(108, 2, 2)])).toEqual([30, 8])
})

it('leaves out a change that another one overtook, and one of an image that is deleted', () => {
  expect(reactionTimes([event(0, 1, undefined), event(10, 2, undefined), event(14, 2, 2)])).toEqual([4])
  const deleted = event(10, 2, 1, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  expect(reactionTimes([event(0, 2, 1), deleted, event(99, 2, 2)])).toEqual([])
})
