import { describe, expect, it } from 'vitest'
import type { Holder } from '../../world.ts'
import { fitting, parseLedger, renderLedger } from './ledger-content.ts'

const aHolder = (at: number, more: Partial<Holder> = {}): Holder => {
  return {
    uid: `uid-${at}`,
    namespace: 'team',
    name: `i${at}`,
    revision: '01234567',
    attempt: 1,
    claimant: 'me',
    ...more,
  }
}
const many = (count: number, more: Partial<Holder> = {}) => Array.from({ length: count }, (_, at) => aHolder(at, more))

describe('holders that fit into a ledger', () => {
  it.each<[string, readonly Holder[], number]>([
    ['all of a few', many(3), 3],
    ['the first of too many', many(5_000), 4_000],
    ['the first of those with long names', many(4_000, { name: 'x'.repeat(253), namespace: 'x'.repeat(63) }), 2_500],
    ['none that makes no sense', [aHolder(0), aHolder(1, { revision: 'x' }), aHolder(2, { attempt: Number.NaN })], 1],
  ])('are %s', (_what, holders, count) => {
    const fit = fitting(holders)
    const ledger = renderLedger({ name: 'ledger' }, { limit: 2, holders: fit })
    expect(fit).toEqual(holders.slice(0, fit.length))
    expect(fit.length).toBeLessThanOrEqual(count)
    expect(fit.length).toBeGreaterThan(count / 2)
    expect(Object.values(ledger.data ?? {}).join('').length).toBeLessThan(2 ** 20)
    expect(parseLedger(ledger)).toEqual({ limit: 2, holders: fit })
  })
})
