import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../../../test/prepared/kube/scripted-client.ts'
import { MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, aStart, bench, NAMESPACE, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import {
  type Call,
  isCreate,
  isLedgerRead,
  isLedgerWrite,
} from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Holder } from '../world.ts'
import { LEDGER_NAME } from './slot-ledger.ts'

afterEach(renewBench)

const isLedgerMade = ({ verb, kind }: Call) => verb === 'create' && kind === 'ConfigMap'

const count = (is: (call: Call) => boolean) => bench.client.calls.filter(is).length

describe('a ledger that is made again', () => {
  it('keeps its 15 s of quiet when the answer to its making was lost', async () => {
    bench.images.put(aStart('x', '5').image)
    bench.client.after = failing(1, apiError('NoAnswer'), isLedgerMade)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(14_999)
    expect(count(isLedgerMade)).toBe(1)
    expect([bench.holding, bench.created]).toEqual([[], []])
    await bench.clock.advance(2 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('in place of one that makes no sense does not overwrite whoever mended that meanwhile', async () => {
    bench.limit = undefined
    bench.images.put(aStart('y', '5').image)
    bench.client.put({ ...aGarbled() })
    bench.client.before = ({ verb, kind }) => {
      if (verb !== 'list' || kind !== 'DataVolume') return
      bench.client.before = undefined
      bench.writeLedger(3, [aHolder('x')])
    }
    await bench.start()
    expect(bench.ledger).toMatchObject({ limit: 3, holders: [{ name: 'x', claimant: 'me' }] })
  })

  it('does not make running downloads look as if they had no slot in the meantime', async () => {
    const [{ uid }] = await bench.begin(2, 'a')
    const [running] = bench.client.all('DataVolume')
    const seen: (string | undefined)[] = []
    const look = () => void seen.push(bench.admission.slotOf(uid)?.name)
    bench.client.before = look
    bench.client.after = look
    bench.dropLedger()
    bench.admission.checkLedger(undefined)
    await settled()
    expect(count(isLedgerMade)).toBe(2)
    expect(bench.holding).toEqual(['a'])
    expect(seen.length).toBeGreaterThan(4)
    expect(new Set(seen)).toEqual(new Set(['a']))
    expect(bench.client.all('DataVolume')).toEqual([running])
  })
})

describe('others', () => {
  it.each([
    ['until it is there', false],
    ['for a moment at most', true],
  ])('give way to a DataVolume that is asked for, %s', async (_name, isSlow) => {
    await bench.start()
    const creating = Promise.withResolvers<void>()
    bench.client.before = (call) => (isCreate(call) ? creating.promise : undefined)
    let hasGivenWay = false
    const giveWay = () => void bench.admission.giveWay().then(() => (hasGivenWay = true))
    giveWay()
    await settled()
    expect(hasGivenWay).toBe(true)

    bench.want('a', '10')
    await settled()
    hasGivenWay = false
    giveWay()
    await settled()
    expect([bench.created, hasGivenWay]).toEqual([['a'], false])
    if (isSlow) await bench.clock.advance(251)
    else creating.resolve()
    await settled()
    expect(hasGivenWay).toBe(true)
    creating.resolve()
  })
})

describe('what the watch tells of the ledger', () => {
  it('that it is gone is enough to make it again', async () => {
    await bench.begin(2, 'a')
    bench.dropLedger()
    await bench.clock.advance(10 * MINUTE)
    expect(bench.ledgerObject).toBeUndefined()
    bench.admission.checkLedger(undefined)
    await settled()
    expect(bench.holding).toEqual(['a'])
  })

  it.each(['before', 'after'] as const)('of own writes, %s their answer, costs no reading of it', async (when) => {
    bench.limit = 1
    await bench.start()
    bench.client.after = (call) => {
      if (!isLedgerWrite(call)) return
      const seen = bench.ledgerObject
      const tell = () => bench.admission.checkLedger(seen)
      if (when === 'before') tell()
      else setImmediate(tell)
    }
    const names = Array.from({ length: 21 }, (_, at) => `image-${String(at).padStart(2, '0')}`)
    for (const [at, name] of names.entries()) bench.want(name, String(100 + at))
    await settled()
    const [reads, writes] = [count(isLedgerRead), count(isLedgerWrite)]
    for (const name of names.slice(0, 20)) {
      expect(bench.holding).toEqual([name])
      await bench.succeed(name)
      await settled()
    }
    expect(bench.holding).toEqual(names.slice(20))
    expect(count(isLedgerRead) - reads).toBe(0)
    expect(count(isLedgerWrite) - writes).toBe(20)
  })

  it('of a write by somebody else, seen before the answer to the own write just before it, is not missed', async () => {
    await bench.start()
    let isFirst = true
    bench.client.after = (call) => {
      if (!isLedgerWrite(call) || !isFirst) return
      isFirst = false
      bench.admission.checkLedger(bench.ledgerObject)
      bench.writeLedger(2, [...bench.ledger.holders, aHolder('x', { claimant: 'other' })])
      bench.admission.checkLedger(bench.ledgerObject)
    }
    bench.want('a', '10')
    await settled()
    expect(bench.ledger.holders).toMatchObject([
      { name: 'a', claimant: 'me' },
      { name: 'x', claimant: 'me' },
    ])
  })

  it('of a write by somebody else is read before anything else is decided', async () => {
    await bench.begin(2, 'a')
    const reads = count(isLedgerRead)
    bench.writeLedger(2, [...bench.ledger.holders, aHolder('x', { claimant: 'other' })])
    bench.admission.checkLedger(bench.ledgerObject)
    bench.want('b', '20')
    await settled()
    expect(count(isLedgerRead)).toBe(reads + 1)
    expect(bench.holding).toEqual(['a', 'x'])
    expect(bench.created).toEqual(['a'])
  })
})

describe('an image whose slot came and went before it was told of it', () => {
  it('is still in the queue', async () => {
    bench.limit = 1
    await bench.start()
    const rival = (holders: readonly Holder[]) => {
      bench.writeLedger(1, holders)
      bench.admission.checkLedger(bench.ledgerObject)
    }
    bench.client.before = (call) => {
      if (!isLedgerWrite(call)) return
      // The rival has taken a slot for it and we are about to adopt that slot, which is freed in the meantime.
      bench.want('a', '10')
      bench.client.before = undefined
      rival([])
    }
    rival([aHolder('a', { revision: '0000000f', claimant: 'rival' })])
    await bench.clock.advance(SECOND)
    expect(bench.created).toEqual(['a'])
  })
})

function aGarbled(): KubeObject {
  const metadata = { name: LEDGER_NAME, namespace: NAMESPACE }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { limit: 'two', holders: '[]' } } as KubeObject
}
