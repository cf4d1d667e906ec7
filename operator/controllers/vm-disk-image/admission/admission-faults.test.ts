import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../kube/api-error.fixtures.ts'
import { classify } from '../../../kube/api-error.ts'
import { settled } from '../../../kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { MINUTE, SECOND } from '../../../runtime/times.fixtures.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Holder } from '../world.ts'
import { AdmissionBench, aHolder, aStart, NAMESPACE } from './admission.fixtures.ts'
import { LEDGER_NAME } from './slot-ledger.ts'

let bench = new AdmissionBench()
afterEach(async () => {
  await bench.stop()
  bench = new AdmissionBench()
})

interface Call {
  readonly verb: string
  readonly kind: string
}
const isCreate = ({ verb, kind }: Call) => verb === 'create' && kind === 'DataVolume'
const isLedgerWrite = ({ verb, kind }: Call) => verb === 'replace' && kind === 'ConfigMap'
const isLedgerRead = ({ verb, kind }: Call) => verb === 'get' && kind === 'ConfigMap'
const isLedgerMade = ({ verb, kind }: Call) => verb === 'create' && kind === 'ConfigMap'
const count = (is: (call: Call) => boolean) => bench.client.calls.filter(is).length
const ledgerObject = () => bench.client.peek<KubeObject>('ConfigMap', `${NAMESPACE}/${LEDGER_NAME}`)

describe('many slots', () => {
  it('are claimed in parts of a hundred, in the order of the tickets, until all are taken', async () => {
    const slots = 2_000
    bench.limit = slots
    const taken: number[] = []
    bench.client.after = (call) => {
      if (isLedgerWrite(call)) taken.push(bench.ledger.holders.length)
    }
    const { start: template, image } = aStart('x', '1')
    const names = Array.from({ length: slots + 50 }, (_, at) => `image-${at}`)
    await bench.start()
    for (const [at, name] of names.entries()) {
      const uid = `uid-${name}`
      bench.images.put({ ...image, metadata: { ...image.metadata, name, uid } })
      const target = { ...template.target, volumeName: `${name}-${template.revision}` }
      bench.admission.want(uid, { ...template, key: `team/${name}`, uid, name, ticket: String(1_000 + at), target })
    }
    await settled()
    expect(taken).toEqual(Array.from({ length: slots / 100 }, (_, at) => (at + 1) * 100))
    expect(bench.created).toEqual(names.slice(0, slots))
    expect(bench.admission.queue.size).toBe(50)
    expect(JSON.stringify(ledgerObject()).length).toBeLessThan(2 ** 20)
  }, 60_000)
})

describe('a create that is answered with an error', () => {
  const answered = (status: number, more: object = {}) =>
    apiError(classify(status, ''), { status, message: `answered ${status}`, ...more })

  it.each([400, 401, 405, 408, 413, 429, 500, 502, 503, 504])(
    '%d is tried again after growing waits, then gives the slot back for a while, and is never final',
    async (status) => {
      bench.limit = 1
      await bench.start()
      const times: number[] = []
      bench.client.before = (call) => {
        if (!isCreate(call)) return
        times.push(bench.clock.monotonic())
        throw answered(status)
      }
      const start = bench.want('a', '10')
      await settled()
      expect([times, bench.holding]).toEqual([[0], ['a']])
      for (let tries = 2; tries <= 4; tries += 1) {
        expect(bench.holding).toEqual(['a'])
        expect(bench.admission.refusalOf(start.uid)).toBeUndefined()
        while (times.length < tries) await bench.clock.advance(50)
      }
      const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0))
      expect(waits).toEqual(waits.toSorted((a, b) => a - b))
      expect(new Set(waits).size).toBe(3)
      const refusal = bench.admission.refusalOf(start.uid)
      expect(refusal).toMatchObject({ reason: 'CreateFailed', message: expect.stringContaining(`answered ${status}`) })
      expect(refusal?.until).toBeGreaterThan(bench.clock.now())
      bench.client.before = undefined
      bench.admission.want(start.uid, undefined)
      // A server in trouble, or a proxy before it, may carry out what it called an error: then the slot waits for a look.
      expect(bench.holding).toEqual(status >= 500 ? ['a'] : [])
      if (status >= 500) await bench.clock.advance(17 * SECOND)
      bench.want('b', '20')
      await settled()
      expect(bench.holding).toEqual(['b'])
      await bench.succeed('b')
      await bench.clock.advance(10 * SECOND)
      expect(bench.clock.now()).toBeGreaterThanOrEqual(refusal?.until ?? Number.POSITIVE_INFINITY)
      bench.want('a', '10')
      await settled()
      expect(bench.holding).toEqual(['a'])
      expect(bench.client.all('DataVolume').map(({ metadata }) => metadata.name)).toContain(start.target.volumeName)
      expect(bench.admission.refusalOf(start.uid)).toBeUndefined()
    },
  )

  it('waits as long as the server asks, and holds up nobody behind it', async () => {
    await bench.start()
    let failures = 1
    bench.client.before = (call) => {
      if (isCreate(call) && failures-- > 0) throw answered(429, { retryAfterMs: 9 * SECOND })
    }
    bench.want('a', '10')
    bench.want('b', '20')
    await bench.clock.advance(8_999)
    expect(bench.created).toEqual(['a', 'b'])
    await bench.clock.advance(2)
    expect(bench.created).toEqual(['a', 'b', 'a'])
  })
})

describe('a create without an answer', () => {
  it('keeps its slot for as long as there is none, however often it is tried', async () => {
    bench.limit = 1
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('NoAnswer')
    }
    const start = bench.want('a', '10')
    bench.want('b', '20')
    await bench.clock.advance(10 * MINUTE)
    expect(bench.created.length).toBeGreaterThan(8)
    expect(new Set(bench.created)).toEqual(new Set(['a']))
    expect(bench.holding).toEqual(['a'])
    expect(bench.admission.refusalOf(start.uid)).toBeUndefined()
  })

  it('is told of when it is one of many', async () => {
    bench.limit = 1
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('NoAnswer')
    }
    const { uid } = bench.want('a', '10')
    while (bench.created.length < 1) await bench.clock.advance(50)
    expect(bench.admission.isAskedInVain(uid)).toBe(false)
    bench.changed.length = 0
    while (bench.created.length < 2) await bench.clock.advance(50)
    expect(bench.admission.isAskedInVain(uid)).toBe(true)
    expect(bench.changed).toContain('team/a')
    bench.client.before = undefined
    while (bench.created.length < 3) await bench.clock.advance(50)
    await bench.succeed('a')
    await bench.clock.advance(16 * SECOND)
    expect([bench.holding, bench.admission.isAskedInVain(uid)]).toEqual([[], false])
  })

  it('keeps its slot for 15 s and a live look when the image does not want it any more', async () => {
    bench.limit = 1
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('NoAnswer')
    }
    const start = bench.want('a', '10')
    await settled()
    bench.client.before = undefined
    const looks = () => bench.client.said('list').filter((line) => line.startsWith('list Pod')).length
    const before = looks()
    bench.admission.want(start.uid, undefined)
    bench.want('b', '20')
    await bench.clock.advance(14_999)
    expect(bench.holding).toEqual(['a'])
    expect(looks()).toBe(before)
    await bench.clock.advance(2 * SECOND)
    expect(looks()).toBe(before + 1)
    expect(bench.client.said('get')).toContain(`get DataVolume team/${start.target.volumeName}`)
    expect(bench.holding).toEqual(['b'])
  })

  /** The DataVolume of `a` is gone, and yet `b` gets the slot only when no request about `a` can arrive any more. */
  async function expectSlotOfAUntilSettled(start: Start): Promise<void> {
    bench.admission.want(start.uid, undefined)
    await bench.drop('a')
    bench.want('b', '20')
    await bench.clock.advance(14_999 - bench.clock.monotonic())
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  }

  it('keeps its slot although a later one was answered, when that DataVolume is gone before the first can arrive', async () => {
    bench.limit = 1
    await bench.start()
    let lost = 1
    bench.client.before = (call) => {
      if (!isCreate(call) || lost === 0) return
      lost -= 1
      throw apiError('NoAnswer')
    }
    const start = bench.want('a', '10')
    while (bench.created.length < 2) await bench.clock.advance(50)
    expect(bench.client.all('DataVolume')).toHaveLength(1)
    await expectSlotOfAUntilSettled(start)
  })

  it('keeps its slot when what it made has succeeded, for somebody may delete that before a second one arrives', async () => {
    bench.limit = 1
    await bench.start()
    bench.client.after = (call) => {
      if (isCreate(call)) throw apiError('NoAnswer')
    }
    const start = bench.want('a', '10')
    await settled()
    await bench.succeed('a')
    expect(bench.holding).toEqual(['a'])
    await expectSlotOfAUntilSettled(start)
  })

  it('of the leader before keeps its slot in the same way', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    const start = bench.want('a', '10')
    await bench.start()
    expect(bench.created).toEqual(['a'])
    await expectSlotOfAUntilSettled(start)
  })

  it.each([
    ['a refusal', 1, 403],
    ['one error too many', 3, 503],
  ])('that is followed by %s does not give the slot away while it may still arrive', async (_name, lost, status) => {
    bench.limit = 1
    await bench.start()
    let sentAt = 0
    let left = lost
    bench.client.before = (call) => {
      if (!isCreate(call) || !call.key.startsWith('team/a-')) return
      if (left-- <= 0) throw apiError(classify(status, ''), { status })
      sentAt = bench.clock.monotonic()
      throw apiError('NoAnswer')
    }
    bench.want('a', '10')
    bench.want('b', '20')
    await bench.clock.advance(7 * SECOND)
    expect(left).toBeLessThan(0)
    // So long a request of ours may be on its way.
    await bench.clock.advance(sentAt + 10 * SECOND - bench.clock.monotonic())
    expect(bench.created).not.toContain('b')
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(MINUTE)
    expect(bench.created).toContain('b')
  })
})

describe('a slot whose image changes its mind', () => {
  it.each(['comes', 'is lost'])(
    'is not freed by a look that began before the image wanted it again, when the answer to its create %s',
    async (answer) => {
      bench.limit = 1
      await bench.start()
      bench.client.before = (call) => {
        if (isCreate(call)) throw apiError('NoAnswer')
      }
      const start = bench.want('a', '10')
      bench.want('b', '20')
      await settled()
      bench.admission.want(start.uid, undefined)
      const looking = Promise.withResolvers<void>()
      let isLooking = false
      bench.client.before = ({ verb, kind }) => {
        if (verb !== 'list' || kind !== 'Pod') return undefined
        isLooking = true
        return looking.promise
      }
      await bench.clock.advance(16 * SECOND)
      expect(isLooking).toBe(true)

      const creating = Promise.withResolvers<void>()
      const holdings: string[][] = []
      let lost = answer === 'is lost' ? 1 : 0
      bench.client.before = (call) => (isCreate(call) ? creating.promise : undefined)
      bench.client.after = (call) => {
        if (isLedgerWrite(call)) holdings.push(bench.holding)
        if (isCreate(call) && lost-- > 0) throw apiError('NoAnswer')
      }
      bench.admission.want(start.uid, start)
      await settled()
      looking.resolve()
      await bench.clock.advance(3 * SECOND)
      expect(bench.created).toEqual(['a', 'a'])
      expect(bench.holding).toEqual(['a'])
      creating.resolve()
      await bench.clock.advance(30 * SECOND)
      expect(bench.holding).toEqual(['a'])
      expect(bench.client.all('DataVolume')).toHaveLength(1)
      expect(holdings.every((names) => names.includes('a'))).toBe(true)
    },
  )

  it('is kept while its DataVolume is being created, though the image does not want it for a moment', async () => {
    bench.limit = 1
    await bench.start()
    const creating = Promise.withResolvers<void>()
    bench.client.before = (call) => (isCreate(call) ? creating.promise : undefined)
    const start = bench.want('a', '10')
    bench.want('b', '20')
    await settled()
    bench.admission.want(start.uid, undefined)
    await bench.clock.advance(4 * SECOND)
    bench.admission.want(start.uid, start)
    await settled()
    expect(bench.holding).toEqual(['a'])
    creating.resolve()
    await bench.clock.advance(30 * SECOND)
    expect(bench.created).toEqual(['a'])
    expect(bench.holding).toEqual(['a'])
  })
})

describe('a ledger that is made anew', () => {
  it('keeps its 15 s of quiet when the answer to its making was lost', async () => {
    bench.images.put(aStart('x', '5').image)
    let lost = 1
    bench.client.after = (call) => {
      if (isLedgerMade(call) && lost-- > 0) throw apiError('NoAnswer')
    }
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
  it('that it is gone is enough to make it anew', async () => {
    await bench.begin(2, 'a')
    bench.dropLedger()
    await bench.clock.advance(10 * MINUTE)
    expect(ledgerObject()).toBeUndefined()
    bench.admission.checkLedger(undefined)
    await settled()
    expect(bench.holding).toEqual(['a'])
  })

  it.each(['before', 'after'] as const)('of own writes, %s their answer, costs no reading of it', async (when) => {
    bench.limit = 1
    await bench.start()
    bench.client.after = (call) => {
      if (!isLedgerWrite(call)) return
      const seen = ledgerObject()
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
      bench.admission.checkLedger(ledgerObject())
      bench.writeLedger(2, [...bench.ledger.holders, aHolder('x', { claimant: 'other' })])
      bench.admission.checkLedger(ledgerObject())
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
    bench.admission.checkLedger(ledgerObject())
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
      bench.admission.checkLedger(ledgerObject())
    }
    bench.client.before = (call) => {
      if (!isLedgerWrite(call)) return
      // The rival has claimed for it, we are about to take that over, and meanwhile it ends.
      bench.want('a', '10')
      bench.client.before = undefined
      rival([])
    }
    rival([aHolder('a', { revision: '0000000f', claimant: 'rival' })])
    await bench.clock.advance(SECOND)
    expect(bench.created).toEqual(['a'])
  })
})

describe('the head of the queue', () => {
  it('that is ready is not overtaken because its own writes fail', async () => {
    await bench.begin(1, 'a')
    const { uid } = bench.want('b', '20')
    bench.want('c', '30')
    bench.admission.setStuck(uid)
    await bench.succeed('a')
    expect(bench.created).toEqual(['a', 'b'])
  })
})

function aGarbled(): KubeObject {
  const metadata = { name: LEDGER_NAME, namespace: NAMESPACE }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { limit: 'two', holders: '[]' } } as KubeObject
}
