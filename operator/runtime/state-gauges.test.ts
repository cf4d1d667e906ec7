import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { START } from '../../test/prepared/runtime/times.ts'
import type { StatusCondition } from './conditions.ts'
import { Meters } from './meters.ts'
import { type StatefulObject, StateGauges } from './state-gauges.ts'

const MINUTE_MS = 60_000
const at = (minute: number) => new Date(START + minute * MINUTE_MS).toISOString()
const REASONS = { Waiting: {}, Missing: {}, Broken: {}, Odd: {} }

function anObject(uid: string, phase: string, reason: string, sinceMinute: number, deleted?: number): StatefulObject {
  const settled: StatusCondition = {
    type: 'Settled',
    status: phase === 'Failed' ? 'True' : 'False',
    reason,
    message: '',
    lastTransitionTime: at(sinceMinute),
  }
  const metadata = { uid, ...(deleted !== undefined && { deletionTimestamp: at(deleted) }) }
  return { metadata, status: { phase, reason, conditions: [settled] } }
}

/** Gauges of objects that a test may change, read at a minute. */
function gaugesOf(objects: StatefulObject[]) {
  const registry = new Registry()
  const gauges = new StateGauges(new Meters(registry))
  let now = START
  const stop = gauges.observe('Thing', { now: () => now }, () => objects, {
    reasons: REASONS,
    conditions: {
      Settled: { presence: 'always', told: 'never', gauge: 'phase' },
      Warning: { presence: 'passing', told: 'whenTrue', gauge: 'reason' },
      News: { presence: 'passing', told: 'whenTrue', gauge: 'none' },
    },
  })
  const readAt = async (minute: number): Promise<Record<string, [objects: number, minutes: number]>> => {
    now = START + minute * MINUTE_MS
    gauges.read()
    const text = await registry.metrics()
    const rows = [...text.matchAll(/^ot_state_objects\{kind="Thing",(.*)\} (\d+)$/gm)]
    return Object.fromEntries(
      rows.map(([, labels = '', count]) => {
        const longest = text.split(`ot_state_longest_seconds{kind="Thing",${labels}} `)[1]?.split('\n')[0]
        return [labels.replaceAll(/phase="(.*)",reason="(.*)"/g, '$1 $2'), [Number(count), Number(longest) / 60]]
      }),
    )
  }
  return { readAt, stop }
}

it('tells how many objects are in each state, and for how long the first of them, even if it failed meanwhile', async () => {
  const { readAt, stop } = gaugesOf([
    anObject('a', 'Provisioning', 'Waiting', 10),
    anObject('b', 'Provisioning', 'Waiting', 20),
    anObject('c', 'Failed', 'Broken', 55),
    anObject('d', 'Failed', 'Broken', 0, 30),
    anObject('e', 'Failed', 'Broken', 90),
  ])
  expect(await readAt(60)).toEqual({
    'Provisioning Waiting': [2, 50],
    'Failed Broken': [2, 5],
    'Deleting Broken': [1, 30],
  })
  stop()
  expect(await readAt(60)).toEqual({})
})

it('remembers since when an object under way has its reason, which its status does not tell', async () => {
  const objects = [anObject('a', 'Queued', 'Waiting', 0)]
  const { readAt } = gaugesOf(objects)
  expect(await readAt(180)).toEqual({ 'Queued Waiting': [1, 180] })
  objects.splice(0, 1, anObject('a', 'Queued', 'Missing', 0))
  expect(await readAt(181)).toEqual({ 'Queued Missing': [1, 0] })
  expect(await readAt(191)).toEqual({ 'Queued Missing': [1, 10] })
  objects.splice(0)
  expect(await readAt(192)).toEqual({})
  objects.push(anObject('a', 'Failed', 'Broken', 193))
  expect(await readAt(200)).toEqual({ 'Failed Broken': [1, 7] })
})

it('has a warning beside the state, once, with its own time, and no reason that is in no catalogue', async () => {
  const warned = anObject('a', 'Ready', 'Odd', 0)
  const warning: StatusCondition = {
    type: 'Warning',
    status: 'True',
    reason: 'Odd',
    message: '',
    lastTransitionTime: at(50),
  }
  const { readAt } = gaugesOf([
    { ...warned, status: { ...warned.status, conditions: [warning, { ...warning, type: 'News', reason: 'Waiting' }] } },
    anObject('b', 'Ready', 'Made up by somebody', 0),
    { metadata: { uid: 'c' } },
  ])
  expect(await readAt(60)).toEqual({ 'Ready Odd': [1, 10], 'Ready Other': [1, 60] })
})
