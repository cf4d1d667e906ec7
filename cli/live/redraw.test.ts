import { expect, it } from 'vitest'
import { FakeClock } from '../../test/prepared/kube/fake-clock.ts'
import { redraw } from './redraw.ts'

/** Returns how often something was computed in a minute in which it changes once, and what was printed. */
async function minute(screen: (() => { columns: number; rows: number }) | undefined) {
  const clock = new FakeClock()
  const stopping = new AbortController()
  let [version, taken, printed] = [0, 0, '']
  const take = () => {
    taken++
    return { text: `at ${version}\n`, content: `${version}` }
  }
  const print = (text: string) => {
    printed += text
  }
  const done = redraw({ clock, print, screen }, { version: () => version, take }, stopping.signal)
  await clock.advance(30_000)
  version++
  await clock.advance(30_000)
  stopping.abort()
  await done
  return { taken, printed }
}

it('computes what is shown when it has changed, and not while it has not', async () => {
  expect(await minute(undefined)).toEqual({ taken: 2, printed: 'at 0\n\nat 1\n' })
})

it('computes it anew for a terminal as often as times are drawn', async () => {
  const { taken } = await minute(() => ({ columns: 80, rows: 24 }))
  expect(taken).toBeLessThanOrEqual(14)
})
