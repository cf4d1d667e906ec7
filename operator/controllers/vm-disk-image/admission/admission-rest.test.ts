import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../../../test/prepared/kube/scripted-client.ts'
import { MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, aStart, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import {
  type Call,
  isCreate,
  isLedgerRead,
  isLedgerWrite,
} from '../../../../test/prepared/vm-disk-image/admission-calls.ts'

const isRead = ({ verb, kind }: Call) => verb === 'list' && kind === 'Pod'

afterEach(renewBench)

/** Makes the next call of this kind take `ms`, while the process is too busy to notice that time passes. */
function slow(ms: number, is: (call: Call) => boolean): void {
  bench.client.before = (call) => {
    if (!is(call)) return
    bench.client.before = undefined
    bench.clock.freeze(ms)
  }
}

describe('what becomes possible while a step is under way is not forgotten', () => {
  it('when a DataVolume that could not be created is due again', async () => {
    await bench.start()
    bench.client.before = failing(2, apiError('NoAnswer'), isCreate)
    bench.want('a', '10')
    await bench.clock.advance(100)
    bench.want('b', '20')
    await settled()
    slow(2 * SECOND, isCreate)
    await bench.clock.advance(4 * SECOND)
    expect(bench.created).toEqual(['a', 'b', 'a', 'b'])
  })

  it.each([1.4, 1.6, 1.7, 1.8])('when a timer fires %d ms early, and thinking takes its time', async (earlyMs) => {
    Object.assign(bench.busy, { creepMs: 0.2, earlyMs })
    bench.writeLedger(1, [aHolder('x')])
    bench.images.put(aStart('x', '5').image)
    await bench.begin(1, 'a')
    await bench.clock.advance(MINUTE)
    expect(bench.holding).toEqual(['a'])
  })

  it('when the ledger that a create reads again says something new, or is read too late', async () => {
    await bench.start()
    bench.client.before = failing(1, apiError('NoAnswer'), isCreate)
    bench.want('a', '10')
    await settled()
    slow(6 * SECOND, isLedgerRead)
    bench.clock.freeze(6 * SECOND)
    await bench.clock.advance(4 * SECOND)
    expect(bench.created).toEqual(['a', 'a'])
  })
})

describe('the ledger that a create reads again', () => {
  /** A failed create is due again, and the last response of the ledger has expired. No watch event reports what others write into the ledger. */
  async function rereadBy(more: () => void): Promise<void> {
    await bench.start()
    bench.client.before = failing(1, apiError('NoAnswer'), isCreate)
    bench.want('a', '10')
    await settled()
    bench.clock.freeze(6 * SECOND)
    more()
    await bench.clock.advance(SECOND)
  }

  it('keeps everybody waiting where it is marked as settling', async () => {
    await rereadBy(() => bench.writeLedger(2, bench.ledger.holders, { settling: 'true' }))
    bench.want('b', '20')
    await bench.clock.advance(10 * SECOND)
    expect(bench.created).toEqual(['a', 'a'])
    await bench.clock.advance(10 * SECOND)
    expect(bench.created).toEqual(['a', 'a', 'b'])
  })

  it('is not believed where it has more holders than there can be', async () => {
    const names = Array.from({ length: 500 }, (_, at) => `forged-${at}`)
    await rereadBy(() => bench.writeLedger(2, [...bench.ledger.holders, ...names.map((one) => aHolder(one))]))
    expect(bench.holding).toEqual([])
  })
})

describe('an admission at rest', () => {
  const NAMES = ['a', 'b', 'c', 'd']
  const name = fc.constantFrom(...NAMES)
  const calls = { create: isCreate, write: isLedgerWrite, read: isLedgerRead, look: isRead }
  const call = fc.constantFrom(...(Object.keys(calls) as (keyof typeof calls)[]))
  const act = fc.oneof(
    fc.record({ act: fc.constant('want' as const), name }),
    fc.record({ act: fc.constantFrom('unwant' as const, 'succeed' as const, 'drop' as const), name }),
    fc.record({ act: fc.constantFrom('claim' as const, 'lose' as const) }),
    fc.record({ act: fc.constant('slow' as const), call, ms: fc.constantFrom(500, 2_000, 6_000, 16_000) }),
    fc.record({ act: fc.constant('fail' as const), call }),
    fc.record({ act: fc.constant('pass' as const), ms: fc.constantFrom(900, 1_100, 4_900, 14_900, 15_100) }),
  )
  type Act = typeof act extends fc.Arbitrary<infer One> ? One : never

  const hasDownload = (of: string) =>
    bench.client.all('DataVolume').some(({ metadata }) => metadata.name.startsWith(`${of}-`))

  async function perform(one: Act, at: number): Promise<void> {
    switch (one.act) {
      case 'want':
        if (!hasDownload(one.name)) bench.want(one.name, String(10 * (at + 1)))
        break
      case 'unwant':
        bench.unwant(one.name)
        break
      case 'succeed':
        if (hasDownload(one.name)) await bench.succeed(one.name)
        break
      case 'drop':
        if (hasDownload(one.name)) await bench.drop(one.name)
        break
      case 'claim':
        bench.writeLedger(2, [aHolder('x', { claimant: 'other' })])
        bench.admission.checkLedger(bench.ledgerObject)
        break
      case 'lose':
        bench.dropLedger()
        bench.admission.checkLedger(undefined)
        break
      case 'slow':
        slow(one.ms, calls[one.call])
        break
      case 'fail':
        bench.client.after = failing(1, apiError('NoAnswer'), calls[one.call])
        break
      case 'pass':
        await bench.clock.advance(one.ms)
    }
    await settled()
    await bench.catchUp()
  }

  it('has nothing left to do: to wake it changes nothing', async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(act, { minLength: 4, maxLength: 16 }),
          fc.constantFrom(0, 1.2, 1.6),
          async (acts, earlyMs) => {
            Object.assign(bench.busy, { creepMs: 0.2, earlyMs })
            bench.isReconciling = true
            bench.images.put(aStart('x', '5').image)
            await bench.start()
            for (const [at, one] of acts.entries()) await perform(one, at)
            await bench.clock.advance(10 * MINUTE)
            const before = { ledger: bench.ledgerData, created: bench.created }
            bench.admission.wake()
            await settled()
            expect({ ledger: bench.ledgerData, created: bench.created }).toEqual(before)
          },
        )
        .afterEach(renewBench),
      { numRuns: 300 },
    )
  })
})
