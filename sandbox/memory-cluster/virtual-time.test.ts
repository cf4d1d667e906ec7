import { describe, expect, test } from 'vitest'
import { sleep } from '../../operator/base/clock.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { VirtualTime } from './virtual-time.ts'

describe('virtual time', () => {
  test('calls back by time, and at the same instant in the order of scheduling', async () => {
    const time = new VirtualTime()
    const seen: string[] = []
    const note = (name: string) => () => seen.push(`${name} ${time.elapsedMs}`)
    time.schedule(20, note('c'))
    time.schedule(10, note('a'))
    time.schedule(10, note('b'))
    time.schedule(30, note('never'))
    expect(await time.run({ untilMs: 25 })).toBe(false)
    expect(seen).toEqual(['a 10', 'b 10', 'c 20'])
    expect(time.elapsedMs).toBe(25)
  })

  test('keeps the order of a thousand callbacks of which most are cancelled', async () => {
    const time = new VirtualTime()
    const seen: number[] = []
    const cancels = Array.from({ length: 1_000 }, (_, at) => {
      const delayMs = (at * 7919) % 1_000
      return time.schedule(delayMs, () => seen.push(delayMs))
    })
    for (const [at, cancel] of cancels.entries()) if (at % 4 !== 0) cancel()
    await time.run({ untilMs: 1_000 })
    expect(seen).toHaveLength(250)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  })

  test('lets promises come to rest between two steps, however long their chain', async () => {
    const time = new VirtualTime()
    const seen: string[] = []
    const chain = async () => {
      for (let link = 0; link < 100; link += 1) await Promise.resolve()
      seen.push('chain')
    }
    time.schedule(1, () => void chain())
    time.schedule(1, () => seen.push('next'))
    await time.run({ untilMs: 1 })
    expect(seen).toEqual(['chain', 'next'])
  })

  test('stops as soon as what is waited for holds, and goes on from there', async () => {
    const time = new VirtualTime()
    let isDone = false
    void sleep(time.clock(), 10).then(() => {
      isDone = true
    })
    time.schedule(11, () => undefined)
    expect(await time.run({ untilMs: 1_000, isDone: () => isDone })).toBe(true)
    expect(time.elapsedMs).toBe(10)
    expect(time.clock().now()).toBe(time.epochMs + 10)
  })

  test('throws what a callback throws', async () => {
    const time = new VirtualTime()
    time.schedule(1, () => {
      throw new Error('an invariant is broken')
    })
    await expect(time.run({ untilMs: 10 })).rejects.toThrow('an invariant is broken')
  })
})

describe('a simulated process', () => {
  test('does late what came while it was frozen, each in a step of its own and in order', async () => {
    const time = new VirtualTime()
    const process = new SimulatedProcess(time, 'one')
    const seen: string[] = []
    const note = (name: string) => () =>
      void Promise.resolve().then(() => seen.push(`${name} ${process.clock.monotonic()}`))
    process.clock.setTimer(note('timer'), 10)
    time.schedule(5, () => process.freeze())
    time.schedule(20, () => process.deliver(note('answer')))
    time.schedule(30, () => process.thaw())
    time.schedule(30, () => process.deliver(note('newer')))
    await time.run({ untilMs: 40 })
    expect(seen).toEqual(['timer 30', 'answer 30', 'newer 30'])
  })

  test('can be frozen again before it has caught up', async () => {
    const time = new VirtualTime()
    const process = new SimulatedProcess(time, 'one')
    const seen: string[] = []
    process.freeze()
    process.deliver(() => {
      seen.push('first')
      process.freeze()
    })
    process.deliver(() => seen.push('second'))
    process.thaw()
    await time.run({ untilMs: 10 })
    expect(seen).toEqual(['first'])
    process.thaw()
    await time.run({ untilMs: 20 })
    expect(seen).toEqual(['first', 'second'])
  })

  test('does nothing any more once it is killed, and a cancelled timer never fires', async () => {
    const time = new VirtualTime()
    const [killed, frozen] = [new SimulatedProcess(time, 'killed'), new SimulatedProcess(time, 'frozen')]
    const seen: string[] = []
    killed.clock.setTimer(() => seen.push('timer'), 10)
    killed.deliver(() => seen.push('before'))
    killed.kill()
    killed.deliver(() => seen.push('after'))
    const cancel = frozen.clock.setTimer(() => seen.push('cancelled'), 10)
    frozen.freeze()
    await time.run({ untilMs: 20 })
    cancel()
    frozen.thaw()
    await time.run({ untilMs: 30 })
    expect(seen).toEqual(['before'])
    expect(killed.state).toBe('killed')
  })
})
