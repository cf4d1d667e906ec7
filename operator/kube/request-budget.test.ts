import { expect, it } from 'vitest'
import { FakeClock, settled } from '../../test/prepared/kube/fake-clock.ts'
import { RequestBudget } from './request-budget.ts'

function build(perSecond: number, burst: number) {
  const clock = new FakeClock()
  const budget = new RequestBudget(clock, perSecond, burst)
  const sent: number[] = []
  const send = (count: number) => {
    for (let at = 0; at < count; at += 1) void budget.take().then(() => sent.push(clock.monotonic()))
  }
  return { clock, budget, sent, send }
}

it('lets a burst through at once, and the rest at its rate', async () => {
  const { clock, sent, send } = build(10, 3)
  send(6)
  await clock.advance(1_000)
  expect(sent).toHaveLength(6)
  expect(sent.filter((at) => at === 0)).toHaveLength(3)
  expect(sent.at(-1)).toBeGreaterThanOrEqual(299)
})

it('never lets more through than burst and rate together', async () => {
  const { clock, sent, send } = build(10, 3)
  send(100)
  await clock.advance(2_000)
  expect(sent.length).toBeLessThanOrEqual(23)
  expect(sent.length).toBeGreaterThan(15)
})

it('saves up no more than a burst', async () => {
  const { clock, sent, send } = build(10, 3)
  await clock.advance(60_000)
  send(10)
  await settled()
  expect(sent).toHaveLength(3)
})

it('is closed for everybody as long as the server asks', async () => {
  const { clock, budget, sent, send } = build(10, 3)
  budget.closeFor(5_000)
  budget.closeFor(1_000)
  send(2)
  await clock.advance(4_999)
  expect(sent).toEqual([])
  await clock.advance(1)
  expect(sent).toEqual([5_000, 5_000])
})

it('lets go of whoever gives up', async () => {
  const { clock, budget } = build(10, 1)
  budget.closeFor(5_000)
  const stop = new AbortController()
  const waiting = expect(budget.take(stop.signal)).rejects.toThrow('enough')
  stop.abort(new Error('enough'))
  await waiting
  expect(clock.pending).toBe(0)
})
