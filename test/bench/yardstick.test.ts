import { describe, expect, it } from 'vitest'
import { FakeClock } from '../prepared/kube/fake-clock.ts'
import { Yardstick } from './yardstick.ts'

describe('Yardstick', () => {
  function build() {
    const clock = new FakeClock()
    const begun: PromiseWithResolvers<number>[] = []
    const measure = () => {
      begun.push(Promise.withResolvers<number>())
      return begun.at(-1)?.promise ?? Promise.resolve(0)
    }
    return { clock, begun, yardstick: new Yardstick(measure, clock) }
  }

  it('measures a pair for a free slot, and not one for each of several at once', async () => {
    const { begun, yardstick } = build()
    yardstick.slotFreed()
    yardstick.slotFreed()
    begun[0]?.resolve(7)
    await expect(yardstick.pairsMs()).resolves.toEqual([7])
    yardstick.slotFreed()
    expect(begun).toHaveLength(1)
  })

  it('measures the next one a while later, never two at a time', async () => {
    const { clock, begun, yardstick } = build()
    yardstick.slotFreed()
    await clock.advance(1_000)
    yardstick.slotFreed()
    expect(begun).toHaveLength(1)
    begun[0]?.resolve(1_100)
    await yardstick.pairsMs()
    yardstick.slotFreed()
    begun[1]?.resolve(5)
    await expect(yardstick.pairsMs()).resolves.toEqual([1_100, 5])
  })

  it('says when a pair could not be written', async () => {
    const { begun, yardstick } = build()
    yardstick.slotFreed()
    begun[0]?.reject(new Error('conflict'))
    await expect(yardstick.pairsMs()).rejects.toThrow('conflict')
  })
})
