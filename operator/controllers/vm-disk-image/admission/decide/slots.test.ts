import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aHolder, aStart } from '../../../../../test/prepared/vm-disk-image/admission.ts'
import type { Start } from '../../decide/image-plan.ts'
import type { Holder } from '../../world.ts'
import { adopt, decideSlots, type SlotFacts, slotKeyOf, slotsLeft } from './slots.ts'

const template = aStart('a', '1').start
const start = (uid: string) => ({ ...template, uid, name: uid })
const base = aHolder('a')
const holder = (uid: string, claimant = 'me'): Holder => ({ ...base, uid, name: uid, claimant })

const decide = ({ queue = [], ...more }: Partial<SlotFacts> & { readonly queue?: readonly Start[] }) => {
  const facts: SlotFacts = {
    ledger: { limit: 2, holders: [] },
    me: 'me',
    limit: 2,
    over: new Set(),
    unheld: 0,
    isAdmitting: true,
    ...more,
  }
  const left = slotsLeft(facts)
  return decideSlots(facts, left, queue.slice(0, left.free))
}

describe('the slots', () => {
  it('are not written when nothing changes', () => {
    expect(decide({ ledger: { limit: 2, holders: [holder('a')] } }).isChange).toBe(false)
  })

  it('stay marked while the ledger is settling, and lose the mark once that is over', () => {
    const ledger = { limit: 2, holders: [], isSettling: true } as const
    expect(decide({ ledger, isAdmitting: false })).toMatchObject({ isChange: false, next: ledger })
    expect(decide({ ledger, isAdmitting: false, limit: 3 })).toMatchObject({
      isChange: true,
      next: { isSettling: true },
    })
    expect(decide({ ledger })).toEqual({ isChange: true, next: { limit: 2, holders: [] }, hasMore: false })
  })

  it('take over a new limit, also where nobody starts', () => {
    expect(decide({ limit: 3 })).toMatchObject({ isChange: true, next: { limit: 3 } })
  })

  it('are released and taken in one write', () => {
    const ledger = { limit: 1, holders: [holder('a')] }
    const { next } = decide({ ledger, limit: 1, over: new Set(ledger.holders), queue: [start('b')] })
    expect(next.holders.map(({ uid }) => uid)).toEqual(['b'])
  })

  it('of others are never released', () => {
    const ledger = { limit: 2, holders: [holder('a', 'other')] }
    expect(decide({ ledger, over: new Set(ledger.holders) }).next.holders).toEqual(ledger.holders)
  })

  it('are not given twice to one image', () => {
    const ledger = { limit: 2, holders: [holder('a')] }
    expect(decide({ ledger, queue: [start('a')] })).toMatchObject({ next: ledger, isChange: false })
  })

  it('are released but not given in quiet times', () => {
    const ledger = { limit: 2, holders: [holder('a')] }
    const decision = decide({
      ledger,
      over: new Set(ledger.holders),
      isAdmitting: false,
      queue: [start('b')],
    })
    expect(decision).toMatchObject({ next: { holders: [] } })
  })

  it('never exceed the limit but for those who had one, whatever is true', () => {
    const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
    const facts = fc.record({
      holders: fc.uniqueArray(fc.record({ uid, isMine: fc.boolean(), isOver: fc.boolean() }), {
        selector: (one) => one.uid,
      }),
      limit: fc.nat(5),
      before: fc.nat(5),
      unheld: fc.nat(3),
      queue: fc.uniqueArray(uid),
      isAdmitting: fc.boolean(),
    })
    fc.assert(
      fc.property(facts, ({ holders, limit, before, unheld, queue, isAdmitting }) => {
        const over = new Set<string>(holders.filter((one) => one.isOver).map((one) => one.uid))
        const ledger = { limit: before, holders: holders.map((one) => holder(one.uid, one.isMine ? 'me' : 'other')) }
        const { next, isChange } = decide({
          ledger,
          limit,
          unheld,
          isAdmitting,
          over: new Set(ledger.holders.filter((one) => over.has(one.uid))),
          queue: queue.map(start),
        })
        const kept = ledger.holders.filter((one) => one.claimant === 'other' || !over.has(one.uid))
        expect(next.limit).toBe(limit)
        expect(next.holders.slice(0, kept.length)).toEqual(kept)
        const taken = next.holders.slice(kept.length)
        if (taken.length > 0) expect(next.holders.length + unheld).toBeLessThanOrEqual(limit)
        if (!isAdmitting) expect(taken).toEqual([])
        expect(new Set(next.holders.map((one) => one.uid)).size).toBe(next.holders.length)
        // An image whose download is over may be next again: its slot is taken again, and the ledger looks the same.
        expect(isChange).toBe(taken.length > 0 || JSON.stringify(next) !== JSON.stringify(ledger))
      }),
    )
  })

  it('are all adopted by a new leader', () => {
    const ledger = { limit: 7, holders: [holder('a', 'x'), holder('b', 'y')] }
    expect(adopt(ledger, 'me')).toEqual({ limit: 7, holders: [holder('a'), holder('b')] })
  })

  it('are taken by attempt', () => {
    const claims = [base, { ...base, attempt: 2 }, { ...base, revision: 'x' }, { ...base, uid: 'x' }].map(slotKeyOf)
    expect(new Set(claims).size).toBe(4)
  })
})
