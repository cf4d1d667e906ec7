import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { deadlineOf } from './deadline.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('aborts when the time is over, 30 s where nothing else is said', () => {
  using short = deadlineOf({ timeoutMs: 20 })
  using usual = deadlineOf()
  vi.advanceTimersByTime(20)
  expect([short.signal.aborted, usual.signal.aborted]).toEqual([true, false])
  vi.advanceTimersByTime(29_980)
  expect(usual.signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it('aborts with its caller, also with one that had given up before', () => {
  const caller = new AbortController()
  using before = deadlineOf({ signal: caller.signal })
  caller.abort(new Error('stopping'))
  using after = deadlineOf({ signal: caller.signal })
  expect([before, after].map(({ signal }) => signal.reason)).toEqual([new Error('stopping'), new Error('stopping')])
})

it('leaves nothing behind', () => {
  const caller = new AbortController()
  deadlineOf({ signal: caller.signal })[Symbol.dispose]()
  expect([vi.getTimerCount(), getEventListeners(caller.signal, 'abort')]).toEqual([0, []])
})
