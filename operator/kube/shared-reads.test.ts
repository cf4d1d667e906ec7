import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FakeClock } from '../../test/prepared/kube/fake-clock.ts'
import { SharedReads } from './shared-reads.ts'

const { signal } = new AbortController()

/** Asks at these times, with looks of these durations in turn. Returns what each caller got, all looks, and the highest number in flight. */
async function play(asks: readonly { readonly at: number; readonly key: string }[], took: readonly number[]) {
  const clock = new FakeClock()
  const looks: { readonly key: string; readonly began: number }[] = []
  let steps = 0
  let underWay = 0
  const shared = new SharedReads(async (key: string) => {
    const look = { key, began: ++steps }
    const number = looks.push(look)
    underWay += 1
    await new Promise<void>((resolve) => clock.setTimer(resolve, took[number % took.length] ?? 1))
    underWay -= 1
    if (number % 5 === 0) throw new Error(`${look.began} failed`)
    return look.began
  })
  const got: { readonly key: string; readonly asked: number; readonly began: number }[] = []
  let most = 0
  for (const { at, key } of asks) {
    clock.setTimer(() => {
      const asked = ++steps
      const answer = shared.take(key, signal).catch((error: Error) => Number.parseInt(error.message, 10))
      void answer.then((began) => got.push({ key, asked, began }))
    }, at)
  }
  for (let at = 0; at < 500; at += 1) {
    await clock.advance(10)
    most = Math.max(most, underWay)
  }
  return { looks, got, most }
}

it('answers each one with the first look that begins after it asked, and looks no more often than that', async () => {
  const ask = fc.record({ at: fc.nat(1_000), key: fc.constantFrom('a', 'b') })
  const arbitrary = fc.tuple(fc.array(ask, { minLength: 1, maxLength: 30 }), fc.array(fc.nat(300), { minLength: 1 }))
  await fc.assert(
    fc.asyncProperty(arbitrary, async ([asks, took]) => {
      const { looks, got, most } = await play(asks, took)
      expect(got).toHaveLength(asks.length)
      for (const { key, asked, began } of got)
        expect(began).toBe(looks.find((look) => look.key === key && look.began > asked)?.began)
      expect(new Set(got.map(({ began }) => began)).size).toBe(looks.length)
      expect(most).toBeLessThanOrEqual(2)
    }),
    { numRuns: 40 },
  )
})

it('looks twice for any number who ask while one is under way', async () => {
  const asks = Array.from({ length: 100 }, (_, at) => ({ at, key: 'a' }))
  const { looks } = await play(asks, [1_000])
  expect(looks).toHaveLength(2)
})
