import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { FakeClock, settled } from '../../test/prepared/kube/fake-clock.ts'
import { type FakeLog, fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import { systemClock } from '../base/clock.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import { WorkQueue } from './work-queue.ts'

let clock = new FakeClock()
let queue = new WorkQueue(clock)
let log: FakeLog = fakeLog()
let stop = new AbortController()
let results: string[] = []
let errors: string[] = []
beforeEach(() => {
  clock = new FakeClock()
  queue = new WorkQueue(clock)
  log = fakeLog()
  stop = new AbortController()
  results = []
  errors = []
})
afterEach(async () => {
  stop.abort()
  await settled()
})

function run(reconcile: ControllerOptions['reconcile'], workers = 2): Promise<void> {
  const controller = new Controller({
    name: 'test',
    queue,
    reconcile,
    workers,
    clock,
    log,
    random: () => 0.5,
    onError: (key) => errors.push(key),
    metrics: {
      added: () => undefined,
      queued: () => undefined,
      retried: () => undefined,
      reconciled: (result) => results.push(result),
      observeDepth: () => undefined,
    },
  })
  return controller.run(stop.signal)
}

/** Returns when `reconcile` ran, in ms, if it fails this many times. */
async function timesOf(error: unknown, failures: number, forMs: number): Promise<number[]> {
  const times: number[] = []
  void run(async () => {
    times.push(clock.monotonic())
    if (times.length <= failures) throw error
    return undefined
  })
  queue.add('a')
  await clock.advance(forMs)
  return times
}

describe('a controller', () => {
  it('reconciles each key, and again when the reconcile asks for it', async () => {
    const seen: string[] = []
    void run(async (key) => {
      seen.push(`${key} ${clock.monotonic()}`)
      return seen.length === 1 ? { afterMs: 700, because: 'test' } : undefined
    })
    queue.add('a')
    await clock.advance(10_000)
    expect(seen).toEqual(['a 0', 'a 700'])
    expect(results).toEqual(['requeue_after', 'success'])
  })

  it('has no two workers at one key, and all workers at different ones', async () => {
    const running = new Set<string>()
    let most = 0
    const release: (() => void)[] = []
    void run(async (key) => {
      expect(running.has(key)).toBe(false)
      running.add(key)
      most = Math.max(most, running.size)
      await new Promise<void>((resolve) => release.push(resolve))
      running.delete(key)
      return undefined
    }, 3)
    for (const key of ['a', 'a', 'b', 'c', 'd']) queue.add(key)
    await settled()
    queue.add('a')
    await settled()
    expect(most).toBe(3)
    while (release.length > 0) {
      release.shift()?.()
      await settled()
    }
    expect(results).toHaveLength(5)
  })

  it('carries out three at once, and more only while some of them are slow', async () => {
    const ends = new Map<string, () => void>()
    const ended = run((key) => new Promise((resolve) => ends.set(key, () => resolve(undefined))), 8)
    const keys = Array.from({ length: 12 }, (_, at) => `k${at}`)
    for (const key of keys) queue.add(key)
    await settled()
    expect([...ends.keys()]).toEqual(keys.slice(0, 3))
    ends.get('k1')?.()
    await settled()
    expect([...ends.keys()]).toEqual(keys.slice(0, 4))
    await clock.advance(249)
    expect(ends.size).toBe(4)
    await clock.advance(1)
    expect(ends.size).toBe(7)
    await clock.advance(250)
    // One per worker, and the one that was done before.
    expect(ends.size).toBe(9)
    // A worker that released the semaphore early does not release it again.
    for (const end of [...ends.values()]) end()
    await clock.advance(1)
    expect(ends.size).toBe(12)
    expect(results).toHaveLength(9)
    stop.abort()
    for (const end of ends.values()) end()
    await ended
  })

  it('backs off exponentially on any error, up to a minute, and forgets that after a success', async () => {
    const times = await timesOf(new Error('bug'), 4, 10_000)
    expect(times).toEqual([0, 75, 225, 525, 1_125])
    expect(errors).toEqual(['a', 'a', 'a', 'a'])
    expect(log.lines.every(({ level }) => level === 'error')).toBe(true)
  })

  it('never waits longer than a minute', async () => {
    const times = await timesOf(apiError('Unavailable'), 100, 600_000)
    const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0))
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_000)
    expect(times.length).toBeGreaterThan(15)
  })

  it('tries a conflict again soon, as the cache is about to catch up', async () => {
    const times = await timesOf(apiError('Conflict'), 3, 10_000)
    expect(times).toEqual([0, 250, 500, 750])
    expect(log.lines.every(({ level }) => level === 'debug')).toBe(true)
  })

  it('warns of an object that exists already only when that lasts: at first the caches may be behind', async () => {
    await timesOf(apiError('AlreadyExists'), 6, 20_000)
    expect(log.lines.map(({ level }) => level)).toEqual([...Array(5).fill('debug'), 'warn'])
  })

  it('does not repeat a refused request soon', async () => {
    const times = await timesOf(apiError('Rejected'), 1, 60_000)
    expect(times).toEqual([0, 22_500])
  })

  it('waits as long as the server asks', async () => {
    expect(await timesOf(apiError('Unavailable', { retryAfterMs: 9_000 }), 1, 60_000)).toEqual([0, 9_000])
  })

  it('starts its back-off again after a success', async () => {
    const times: number[] = []
    void run(async () => {
      times.push(clock.monotonic())
      if (times.length === 1 || times.length === 3) throw new Error('bug')
      return undefined
    })
    queue.add('a')
    await clock.advance(1_000)
    queue.add('a')
    await clock.advance(1_000)
    expect(times).toEqual([0, 75, 1_000, 1_075])
  })

  it('is told of news during a back-off at once', async () => {
    const times: number[] = []
    void run(async () => {
      times.push(clock.monotonic())
      if (times.length === 1) throw apiError('Rejected')
      return undefined
    })
    queue.add('a')
    await clock.advance(100)
    queue.add('a')
    await clock.advance(60_000)
    expect(times).toEqual([0, 100])
  })

  it('lets a timer fire between thousands of keys that need no I/O', async () => {
    const keys = 5_000
    let seen = 0
    // Each key takes a millisecond on any machine. Only the timers are real.
    const own = { now: () => seen, monotonic: () => seen, setTimer: systemClock.setTimer }
    clock = own as unknown as FakeClock
    queue = new WorkQueue(own)
    const ended = Promise.withResolvers<void>()
    let seenByTimer: number | undefined
    setTimeout(() => {
      seenByTimer = seen
    }, 0)
    for (let at = 0; at < keys; at += 1) queue.add(`key-${at}`)
    void run(async () => {
      seen += 1
      if (seen === keys) ended.resolve()
      return undefined
    }, 8)
    await ended.promise
    expect(seenByTimer).toBeLessThan(100)
  })

  it('stops when the last worker is done, and calls a stop no error', async () => {
    let release: (() => void) | undefined
    let isEnded = false
    const ended = run(async (_key, signal) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      signal.throwIfAborted()
      return undefined
    })
    void ended.then(() => {
      isEnded = true
    })
    queue.add('a')
    await settled()
    stop.abort()
    await settled()
    expect(isEnded).toBe(false)
    release?.()
    await ended
    expect([errors, log.lines]).toEqual([[], []])
  })
})
