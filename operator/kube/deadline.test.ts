import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Deadline } from './deadline.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('aborts when the time is over, 30 s where nothing else is said', () => {
  using short = new Deadline({ timeoutMs: 20 })
  using usual = new Deadline()
  vi.advanceTimersByTime(20)
  expect([short.signal.aborted, usual.signal.aborted]).toEqual([true, false])
  vi.advanceTimersByTime(29_980)
  expect(usual.signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it('aborts with its caller, also with one that had given up before', () => {
  const caller = new AbortController()
  using before = new Deadline({ signal: caller.signal })
  caller.abort(new Error('stopping'))
  using after = new Deadline({ signal: caller.signal })
  expect([before, after].map(({ signal }) => signal.reason)).toEqual([new Error('stopping'), new Error('stopping')])
})

it('leaves nothing behind', () => {
  const caller = new AbortController()
  new Deadline({ signal: caller.signal })[Symbol.dispose]()
  expect([vi.getTimerCount(), getEventListeners(caller.signal, 'abort')]).toEqual([0, []])
})
