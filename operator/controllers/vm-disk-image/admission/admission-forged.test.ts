import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, aStart, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { isCreate, isLedgerWrite } from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import { viewDataVolume } from '../../../cluster/views.ts'

// What somebody who may write the ledger can put into it. The effect must end by itself, and admit nobody beyond the limit.

afterEach(renewBench)

const inventions = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    ...aHolder('x'),
    uid: `forged-${at}`,
    name: `forged-${at}`,
    claimant: 'x',
  }))

const forged = (count: number) => bench.writeLedger(2, [...bench.ledger.holders, ...inventions(count)])

describe('holders that somebody else has written', () => {
  it.each(['somebody', 'me'])(
    'let nobody download beyond the limit, though the image waits for just that: by %s',
    async (claimant) => {
      bench.isReconciling = true
      await bench.start()
      for (const [name, ticket] of Object.entries({ a: '10', b: '20', c: '30' })) bench.want(name, ticket)
      await settled()
      expect(bench.created).toEqual(['a', 'b'])
      const { uid, namespace, name, revision, attempt } = aStart('c', '30').start
      bench.writeLedger(100, [...bench.ledger.holders, { uid, namespace, name, revision, attempt, claimant }])
      bench.admission.checkLedger(undefined)
      await bench.clock.advance(60 * SECOND)
      expect(bench.ledger).toMatchObject({ limit: 2, holders: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
      expect(bench.created).toEqual(['a', 'b'])
      await bench.succeed('a')
      expect(bench.created).toEqual(['a', 'b', 'c'])
    },
  )

  it('of images that do not exist are gone after the 15 s for which a claim may be good, and the queue goes on', async () => {
    bench.isReconciling = true
    await bench.begin(2, 'a')
    forged(90)
    bench.admission.checkLedger(undefined)
    bench.want('b', '20')
    await bench.clock.advance(14 * SECOND)
    expect(bench.holding).toHaveLength(91)
    expect(bench.created).toEqual(['a'])
    await bench.clock.advance(4 * SECOND)
    expect(bench.holding).toEqual(['a', 'b'])
    expect(bench.created).toEqual(['a', 'b'])
  })

  it('and are more than there can be make the ledger as good as none: it is made again from what runs, whose download goes on', async () => {
    bench.isReconciling = true
    await bench.begin(2, 'a')
    await bench.report('a', { phase: 'ImportInProgress' })
    bench.writeLedger(2_000, inventions(2_000))
    bench.admission.checkLedger(undefined)
    bench.want('b', '20')
    await settled()
    expect(bench.ledger).toMatchObject({ limit: 2, holders: [{ name: 'a' }] })
    expect(bench.admission.isStray(viewDataVolume(bench.dataVolumeOf('a')))).toBe(false)
    await bench.clock.advance(16 * SECOND)
    expect(bench.holding).toEqual(['a', 'b'])
    expect(bench.created).toEqual(['a', 'b'])
    expect(bench.client.calls.filter(({ verb, kind }) => verb === 'get' && kind === 'DataVolume')).toEqual([])
    expect(bench.client.calls.filter(isLedgerWrite).length).toBeLessThan(5)
  })

  it('that are looked at leave room for other requests', async () => {
    await bench.start()
    let [underWay, most] = [0, 0]
    bench.client.before = async ({ kind }) => {
      if (kind !== 'DataVolume') return
      most = Math.max(most, ++underWay)
      await new Promise<void>((resolve) => bench.clock.setTimer(resolve, 100))
      underWay -= 1
    }
    forged(100)
    bench.admission.checkLedger(undefined)
    await bench.clock.advance(16 * SECOND)
    expect(most).toBe(16)
    await bench.clock.advance(10 * SECOND)
    expect(bench.holding).toEqual([])
  })
})

describe('a limit that is lowered while DataVolumes cannot be made', () => {
  it('holds for those too, and each has its turn', async () => {
    bench.isReconciling = true
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('Unavailable', { status: 429 })
    }
    for (const [name, ticket] of Object.entries({ a: '10', b: '20' })) bench.want(name, ticket)
    await settled()
    expect(bench.holding).toEqual(['a', 'b'])
    bench.client.before = undefined
    const asked = bench.created.length
    bench.limit = 1
    bench.admission.wake()
    await bench.clock.advance(60 * SECOND)
    expect(bench.created.slice(asked)).toEqual(['a'])
    await bench.succeed('a')
    await bench.clock.advance(60 * SECOND)
    expect(bench.created.slice(asked)).toEqual(['a', 'b'])
  })
})
