import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock, settled } from '../../test/prepared/kube/fake-clock.ts'
import { KeyRateLimiter } from './key-rate-limiter.ts'
import { WorkQueue } from './work-queue.ts'

const build = () => {
  const clock = new FakeClock()
  return { clock, queue: new WorkQueue(clock) }
}

/** Takes and finishes all keys that are ready. */
async function drain(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = []
  while (queue.depth > 0) {
    const key = (await queue.take()) ?? ''
    keys.push(key)
    queue.done(key)
  }
  return keys
}

describe('groups of keys', () => {
  it('may be those of urgent keys alone', async () => {
    const queue = new WorkQueue(new FakeClock(), { groupOf: () => '', urgentGroupOf: (key) => key.charAt(0) })
    for (const key of ['a1', 'a2', 'b1']) queue.add(key, 'urgent')
    expect(await drain(queue)).toEqual(['a1', 'b1', 'a2'])
    for (const key of ['a1', 'a2', 'b1']) queue.add(key)
    expect(await drain(queue)).toEqual(['a1', 'a2', 'b1'])
  })

  it('take turns, in each lane', async () => {
    const queue = new WorkQueue(new FakeClock(), { groupOf: (key) => key.charAt(0) })
    for (const key of ['a1', 'a2', 'a3', 'b1']) queue.add(key)
    for (const key of ['a4', 'a5', 'b2']) queue.add(key, 'urgent')
    expect(await drain(queue)).toEqual(['a4', 'b2', 'a5', 'a1', 'b1', 'a2', 'a3'])
  })
})

describe('a key', () => {
  it('is in the queue once', async () => {
    const { queue } = build()
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    expect(queue.depth).toBe(2)
    expect(await drain(queue)).toEqual(['a', 'b'])
  })

  it('that one change adds more than once is worked on once, though workers wait for it', async () => {
    const { queue } = build()
    const taken: string[] = []
    const work = async (): Promise<void> => {
      const key = await queue.take()
      if (key === undefined) return
      taken.push(key)
      queue.done(key)
      await work()
    }
    const workers = [work(), work()]
    queue.add('a')
    queue.add('b')
    queue.add('a', 'urgent')
    await settled()
    queue.add('b')
    await settled()
    queue.stop()
    await Promise.all(workers)
    expect(taken).toEqual(['a', 'b', 'b'])
  })

  it('that is urgent goes first, and may become urgent while it waits', async () => {
    const { queue } = build()
    queue.add('a')
    queue.add('b')
    queue.add('c', 'urgent')
    queue.add('b', 'urgent')
    queue.add('c', 'normal')
    expect(await drain(queue)).toEqual(['c', 'b', 'a'])
  })

  it('keeps the earlier of two times', async () => {
    const { clock, queue } = build()
    queue.addAfter('a', 1_000)
    queue.addAfter('a', 5_000)
    queue.addAfter('b', 5_000)
    queue.addAfter('b', 1_000)
    await clock.advance(999)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect((await drain(queue)).toSorted()).toEqual(['a', 'b'])
    await clock.advance(10_000)
    expect(queue.depth).toBe(0)
  })

  it('that is added at once does not come again at its later time', async () => {
    const { clock, queue } = build()
    queue.addAfter('a', 1_000)
    queue.add('a')
    expect(await drain(queue)).toEqual(['a'])
    await clock.advance(2_000)
    expect(queue.depth).toBe(0)
  })

  it('that is not urgent has its share while urgent ones keep coming', async () => {
    const { queue } = build()
    const taken: (string | undefined)[] = []
    for (const key of ['n1', 'n2']) queue.add(key)
    for (let at = 0; at < 12; at += 1) {
      queue.add(`u${at}`, 'urgent')
      const key = await queue.take()
      taken.push(key?.slice(0, 1))
      queue.done(key ?? '')
    }
    expect(taken.join('')).toBe('uuuunuuuunuu')
  })

  it('that somebody else changes all the time is tried less often', async () => {
    const { queue, clock } = build()
    const tried = async (isConflict: boolean, key: string) => {
      let count = 0
      for (let at = 0; at < 60_000; at += 100) {
        queue.add(key)
        if (queue.depth > 0) {
          await queue.take()
          count += 1
          if (isConflict) queue.noteConflict(key)
          queue.done(key)
        }
        await clock.advance(100)
      }
      return count
    }
    const [calm, contested] = [await tried(false, 'calm'), await tried(true, 'contested')]
    expect([calm > 150, contested < 45, contested > 30]).toEqual([true, true, true])
  })

  it('that waits with a delay keeps the more urgent lane', async () => {
    const { clock, queue } = build()
    queue.addAfter('a', 1_000, 'urgent')
    queue.addAfter('a', 500)
    await clock.advance(499)
    queue.add('b')
    await clock.advance(1)
    expect(await drain(queue)).toEqual(['a', 'b'])
  })

  it.each([
    ['urgent', 'normal'],
    ['normal', 'urgent'],
  ] as const)('that one of two adds wants urgently is urgent: %s, then %s', async (...lanes) => {
    const { queue } = build()
    queue.add('b')
    for (const lane of lanes) queue.addAfter('a', lane === 'urgent' ? 1_000 : 0, lane)
    expect(await drain(queue)).toEqual(['a', 'b'])
  })

  it('that is worked on waits until that is done', async () => {
    const { queue } = build()
    queue.add('a')
    await queue.take()
    queue.add('a')
    queue.addAfter('a', 1_000)
    expect(queue.depth).toBe(0)
    let second: string | undefined
    void queue.take().then((key) => {
      second = key
    })
    await settled()
    expect(second).toBeUndefined()
    queue.done('a')
    await settled()
    expect(second).toBe('a')
  })

  it('that is worked on comes again after what is left of its delay', async () => {
    const { clock, queue } = build()
    queue.add('a')
    await queue.take()
    queue.addAfter('a', 1_000)
    await clock.advance(600)
    queue.done('a')
    await clock.advance(399)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect(queue.depth).toBe(1)
  })

  it('goes to one taker only', async () => {
    const { queue } = build()
    const taken: (string | undefined)[] = []
    for (let worker = 0; worker < 3; worker += 1) void queue.take().then((key) => taken.push(key))
    queue.add('a')
    queue.add('b')
    await settled()
    expect(taken).toEqual(['a', 'b'])
    queue.stop()
    await settled()
    expect(taken).toEqual(['a', 'b', undefined])
  })
})

describe('the queue', () => {
  it('takes nothing any more once it is stopped', async () => {
    const { clock, queue } = build()
    queue.addAfter('a', 100)
    queue.stop()
    queue.add('b')
    await clock.advance(1_000)
    expect(queue.depth).toBe(0)
    expect(await queue.take()).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  it('says how long a key waited, and how many became ready', async () => {
    const { clock, queue } = build()
    let added = 0
    queue.onAdd = () => {
      added += 1
    }
    queue.add('a')
    queue.add('a', 'urgent')
    await clock.advance(250)
    await queue.take()
    expect(queue.waitedMs('a')).toBe(250)
    expect(queue.waitedMs('a')).toBe(0)
    expect(added).toBe(1)
  })

  it('gives 10,000 delayed keys back in the order of their times, with one timer', async () => {
    const { clock, queue } = build()
    const delay = (at: number) => 1 + ((at * 7_919) % 10_007)
    for (let at = 0; at < 10_000; at += 1) queue.addAfter(`k${at}`, delay(at))
    expect(clock.pending).toBe(1)
    clock.freeze(10_007)
    await clock.advance(0)
    const keys = await drain(queue)
    const expected = Array.from({ length: 10_000 }, (_none, at) => at).toSorted((a, b) => delay(a) - delay(b))
    expect(keys).toEqual(expected.map((at) => `k${at}`))
    expect(clock.pending).toBe(0)
  })

  it('releases each key at its earliest time, whatever is added', async () => {
    const act = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), delay: fc.integer({ min: 1, max: 40 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
        const { clock, queue } = build()
        const earliest = new Map<string, number>()
        for (const { key, delay } of acts) {
          queue.addAfter(key, delay)
          earliest.set(key, Math.min(delay, earliest.get(key) ?? delay))
        }
        const seen = new Map<string, number>()
        for (let now = 1; now <= 40; now += 1) {
          await clock.advance(1)
          for (const key of await drain(queue)) seen.set(key, now)
        }
        expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(earliest))
      }),
      { numRuns: 30 },
    )
  })
})

describe('a key that comes again and again', () => {
  const PACE = { burst: 3, everyMs: 10 }
  const paced = () => {
    const clock = new FakeClock()
    return { clock, queue: new WorkQueue(clock, { rateLimiter: new KeyRateLimiter(PACE.burst, PACE.everyMs) }) }
  }

  it('is worked on at its rateLimiter, and others at once', async () => {
    const { clock, queue } = paced()
    const seen: string[] = []
    for (let now = 0; now < 100; now += 1) {
      queue.add('loop')
      if (now === 50) queue.add('other')
      seen.push(...(await drain(queue)).map((key) => `${key} at ${now}`))
      await clock.advance(1)
    }
    expect(seen.filter((one) => one.startsWith('other'))).toEqual(['other at 50'])
    expect(seen).toHaveLength(1 + PACE.burst + 9)
  })

  /** Returns when each key was taken, and when it was last added. */
  async function play(acts: readonly { key: string; delay: number; gap: number; urgent: boolean }[]) {
    const { clock, queue } = paced()
    const taken = new Map<string, number[]>()
    const added = new Map<string, number>()
    const run = async (forMs: number) => {
      for (let at = 0; at < forMs; at += 1) {
        for (const key of await drain(queue)) taken.set(key, [...(taken.get(key) ?? []), clock.monotonic()])
        await clock.advance(1)
      }
    }
    for (const { key, delay, gap, urgent } of acts) {
      queue.addAfter(key, delay, urgent ? 'urgent' : 'normal')
      added.set(key, clock.monotonic())
      await run(gap)
    }
    await run(200)
    return { taken, added, left: [queue.depth, clock.pending] }
  }

  it('never is worked on more often than its pace allows, nor forgotten, whatever is added', async () => {
    const delay = fc.constantFrom(0, 0, 0, 1, 15, 30)
    const act = fc.record({ key: fc.constantFrom('a', 'b'), delay, gap: fc.nat(2), urgent: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 80 }), async (acts) => {
        const { taken, added, left } = await play(acts)
        for (const [key, last] of added) {
          const times = taken.get(key) ?? []
          expect(times.at(-1)).toBeGreaterThanOrEqual(last)
          const gaps = times.slice(PACE.burst).map((time, at) => time - (times[at] ?? 0))
          expect(Math.min(PACE.everyMs, ...gaps)).toBe(PACE.everyMs)
        }
        expect(left).toEqual([0, 0])
      }),
      { numRuns: 60 },
    )
  })
})
