import { afterEach, describe, expect, it } from 'vitest'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { AdmissionBench, aStart } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { QueuePositions } from './queue-positions.ts'

let stop = new AbortController()
afterEach(() => stop.abort())

/** Builds waiting images, each with the position that its status shows. */
async function build(told: readonly number[], limit = 0) {
  stop = new AbortController()
  const bench = new AdmissionBench()
  bench.limit = limit
  await bench.start()
  for (const [at, queuePosition] of told.entries()) {
    const name = `i${at}`
    const { image, start } = aStart(name, String(10 + at))
    const conditions = [
      { type: 'Reconciling' as const, status: 'True' as const, reason: limit === 0 ? 'Paused' : 'Queued', message: '' },
    ]
    const status = { ...image.status, queuePosition, queuePositionTime: new Date(START).toISOString(), conditions }
    bench.images.put({ ...image, status })
    bench.admission.want(start.uid, start)
  }
  await settled()
  const due: string[] = []
  const { admission, images, clock, log } = bench
  void new QueuePositions({ admission, images, clock, log, onDue: (key) => due.push(key) }).run(stop.signal)
  return { bench, due }
}

describe('positions', () => {
  it.each<[what: string, told: number[], seconds: number]>([
    ['of those who wait for less than a minute', [9, 9, 9], 59],
    ['that are right', [1, 2, 3], 300],
  ])('%s are left alone', async (_what, told, seconds) => {
    const { bench, due } = await build(told)
    await bench.clock.advance(seconds * SECOND)
    expect(due).toEqual([])
  })

  it('are refreshed one each second, the one that is furthest off for its place first', async () => {
    const { bench, due } = await build([1, 8, 9, 9, 9])
    await bench.clock.advance(59 * SECOND)
    await bench.clock.advance(SECOND)
    expect(due).toEqual(['team/i1'])
    await bench.clock.advance(3 * SECOND)
    expect(due).toEqual(['team/i1', 'team/i2', 'team/i3', 'team/i4'])
  })

  it('that cannot be written hold up no other one, and are tried again ever more rarely', async () => {
    const { bench, due } = await build([900, 900, 9])
    await bench.clock.advance(65 * SECOND)
    expect(due).toEqual(['team/i0', 'team/i1', 'team/i2'])
    await bench.clock.advance(20 * 60 * SECOND)
    expect(due.filter((key) => key === 'team/i0')).toHaveLength(6)
  })

  it('that were written are due again as soon as they are wrong', async () => {
    const { bench, due } = await build([1])
    const tell = async (reason: string, resourceVersion: string) => {
      const image = bench.images.get('team/i0')
      if (image === undefined) throw new Error('no image')
      const conditions = [{ type: 'Reconciling' as const, status: 'True' as const, reason, message: '' }]
      bench.images.put({
        ...image,
        metadata: { ...image.metadata, resourceVersion },
        status: { ...image.status, conditions },
      })
      await bench.clock.advance(SECOND)
    }
    for (const [at, reason] of ['Queued', 'Paused', 'Queued', 'Paused'].entries()) await tell(reason, String(900 + at))
    expect(due).toEqual(['team/i0', 'team/i0'])
  })

  it('come after whoever was not told that syncing is paused', async () => {
    const { bench, due } = await build([5, 2, 3])
    const { image } = aStart('i2', '12')
    const status = { ...image.status, queuePosition: 3, queuePositionTime: new Date(START).toISOString() }
    bench.images.put({ ...image, metadata: { ...image.metadata, resourceVersion: '999' }, status })
    await bench.clock.advance(61 * SECOND)
    expect(due[0]).toBe('team/i2')
  })

  it('are nobody’s concern any more once it stops', async () => {
    const { bench, due } = await build([9])
    stop.abort()
    await bench.clock.advance(120 * SECOND)
    expect(due).toEqual([])
  })

  it('of all others are kept up where one cannot be worked out', async () => {
    const { bench, due } = await build([9, 9, 9])
    const odd = bench.images.get('team/i0')
    if (odd === undefined) throw new Error('no image')
    const metadata = { ...odd.metadata, resourceVersion: '900' }
    bench.images.put({ ...odd, metadata, status: { ...odd.status, conditions: 'none' as never } })
    await bench.clock.advance(61 * SECOND)
    expect(due).toContain('team/i1')
    expect(bench.log.lines).toContainEqual(expect.objectContaining({ level: 'error' }))
  })
})
