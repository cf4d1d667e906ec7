import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Laws } from '../../test/prepared/runtime/laws.ts'

const pairs = fc.record({ one: fc.integer(), other: fc.array(fc.string()) })

it('laws have the values that properties have, and each law the same', () => {
  const laws = new Laws(pairs)
  const seen = (numRuns: number) => {
    const values: object[] = []
    laws.check((one) => values.push(one), numRuns)
    return values
  }
  const asProperty: object[] = []
  fc.assert(
    fc.property(pairs, (one) => void asProperty.push(one)),
    { numRuns: 80 },
  )
  for (const numRuns of [50, 80, 50]) expect(seen(numRuns)).toEqual(asProperty.slice(0, numRuns))
  expect(seen(1).every(Object.isFrozen)).toBe(true)
})

it('a law that does not hold is told with the smallest value and how to repeat it', () => {
  const isShort = ({ other }: { readonly other: readonly string[] }) => expect(other.length).toBeLessThan(3)
  expect(() => new Laws(pairs).check(isShort, 200)).toThrow(
    /Property failed after \d+ tests[\s\S]*Counterexample: \[\{"one":0,"other":\["","",""\]\}\]/,
  )
})
