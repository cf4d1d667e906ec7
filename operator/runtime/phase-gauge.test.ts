import { expect, it } from 'vitest'
import { longestWaitSeconds, type Waiter } from './phase-gauge.ts'

const NOW = Date.parse('2026-01-01T01:00:00.000Z')
const at = (minute: number) => new Date(NOW - (60 - minute) * 60_000).toISOString()
const notReady = (minute: number) => ({ type: 'Ready', status: 'False', lastTransitionTime: at(minute) }) as const
const provisioning = (minute: number, since: number): Waiter => ({
  metadata: { creationTimestamp: at(minute) },
  status: { phase: 'Provisioning', conditions: [notReady(since)] },
})

it.each<[string, readonly Waiter[], number]>([
  ['of nothing', [], 0],
  ['of the one that has waited longest', [provisioning(0, 50), provisioning(0, 30), provisioning(0, 40)], 1_800],
  ['of one that has no status yet', [{ metadata: { creationTimestamp: at(45) } }], 900],
  ['of one that was ready before, since then', [provisioning(0, 55)], 300],
  ['of one that is ready', [{ ...provisioning(0, 0), status: { phase: 'Ready', conditions: [notReady(0)] } }], 0],
  ['of one that has failed', [{ ...provisioning(0, 0), status: { phase: 'Failed', conditions: [notReady(0)] } }], 0],
  ['of one that is being deleted', [{ ...provisioning(0, 0), metadata: { deletionTimestamp: at(1) } }], 0],
  ['of one whose clock is ahead', [provisioning(61, 61)], 0],
])('the longest wait %s', (_whose, objects, seconds) => {
  expect(longestWaitSeconds(objects, NOW)).toBe(seconds)
})
