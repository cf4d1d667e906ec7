import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { isCreate } from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import { classify } from '../../../kube/api-error.ts'
import type { Start } from '../decide/image-plan.ts'

afterEach(renewBench)

describe('a create without an answer', () => {
  /** Starts with one slot. No create gets a response until the test resets that. */
  async function startUnanswered(): Promise<void> {
    bench.limit = 1
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('NoAnswer')
    }
  }

  it('keeps its slot as long as there is none, however often it is tried', async () => {
    await startUnanswered()
    const start = bench.want('a', '10')
    bench.want('b', '20')
    await bench.clock.advance(10 * MINUTE)
    expect(bench.created.length).toBeGreaterThan(8)
    expect(new Set(bench.created)).toEqual(new Set(['a']))
    expect(bench.holding).toEqual(['a'])
    expect(bench.admission.refusalOf(start.uid)).toBeUndefined()
  })

  it('is told of when it is one of many', async () => {
    await startUnanswered()
    const { uid } = bench.want('a', '10')
    while (bench.created.length < 1) await bench.clock.advance(50)
    expect(bench.admission.isCreateFailing(uid)).toBe(false)
    bench.changed.length = 0
    while (bench.created.length < 2) await bench.clock.advance(50)
    expect(bench.admission.isCreateFailing(uid)).toBe(true)
    expect(bench.changed).toContain('team/a')
    bench.client.before = undefined
    while (bench.created.length < 3) await bench.clock.advance(50)
    await bench.succeed('a')
    await bench.clock.advance(16 * SECOND)
    expect([bench.holding, bench.admission.isCreateFailing(uid)]).toEqual([[], false])
  })

  it('keeps its slot for 15 s and a live look when the image does not want it any more', async () => {
    await startUnanswered()
    const start = bench.want('a', '10')
    await settled()
    bench.client.before = undefined
    const looks = () => bench.client.callsOf('list').filter((line) => line.startsWith('list Pod')).length
    const before = looks()
    bench.admission.want(start.uid, undefined)
    bench.want('b', '20')
    await bench.clock.advance(14_999)
    expect(bench.holding).toEqual(['a'])
    expect(looks()).toBe(before)
    await bench.clock.advance(2 * SECOND)
    expect(looks()).toBe(before + 1)
    expect(bench.client.callsOf('get')).toContain(`get DataVolume team/${start.target.volumeName}`)
    expect(bench.holding).toEqual(['b'])
  })

  /** Deletes the DataVolume of `a`, and expects `b` to get the slot only when no request for `a` can arrive any more. */
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
    // A request of ours may be in flight until then.
    await bench.clock.advance(sentAt + 10 * SECOND - bench.clock.monotonic())
    expect(bench.created).not.toContain('b')
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(MINUTE)
    expect(bench.created).toContain('b')
  })
})
