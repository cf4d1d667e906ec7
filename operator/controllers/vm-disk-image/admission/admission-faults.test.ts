import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../../../test/prepared/kube/scripted-client.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aStart, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { isCreate, isLedgerWrite } from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import { classify } from '../../../kube/api-error.ts'

afterEach(renewBench)

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
    expect(JSON.stringify(bench.ledgerObject).length).toBeLessThan(2 ** 20)
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
      // A failing server, or a proxy in front of it, may still carry out the request: then the slot is kept until a live read.
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
    bench.client.before = failing(1, answered(429, { retryAfterMs: 9 * SECOND }), isCreate)
    bench.want('a', '10')
    bench.want('b', '20')
    await bench.clock.advance(8_999)
    expect(bench.created).toEqual(['a', 'b'])
    await bench.clock.advance(2)
    expect(bench.created).toEqual(['a', 'b', 'a'])
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
      let isReading = false
      bench.client.before = ({ verb, kind }) => {
        if (verb !== 'list' || kind !== 'Pod') return undefined
        isReading = true
        return looking.promise
      }
      await bench.clock.advance(16 * SECOND)
      expect(isReading).toBe(true)

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

describe('the head of the queue', () => {
  it('that is ready is not overtaken because its own writes fail', async () => {
    await bench.begin(1, 'a')
    const { uid } = bench.want('b', '20')
    bench.want('c', '30')
    bench.admission.setStuck(uid)
    await bench.succeed('a')
    expect(bench.created).toEqual(['a', 'b'])
  })

  it('is not overtaken for a write that was found slow only when the image was gone already', async () => {
    await bench.start()
    const start = bench.wantUnwritten('a', '10')
    bench.admission.forget(start.uid)
    bench.admission.setStuck(start.uid)
    bench.wantUnwritten('a', '10')
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual([])
  })
})
