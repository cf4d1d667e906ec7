import { describe, expect, it } from 'vitest'
import { fromTime } from '../../../base/time.ts'
import { HOUR, MINUTE, SECOND } from '../../../runtime/times.fixtures.ts'
import { CDI } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'

const due = (walk: Walk) => fromTime(walk.status.nextRetryTime) ?? Number.NaN
const ended = (walk: Walk) => fromTime(walk.status.attempts?.at(-1)?.endedAt) ?? Number.NaN

describe('the wait before a retry', () => {
  const wait = (downloads: number, policy = {}) => {
    const walk = new Walk({
      policy: { retryLimit: 50, retryBackoffMs: 5 * MINUTE, retryBackoffMaxMs: HOUR, ...policy },
    })
    walk.settle()
    for (let turn = 1; turn < downloads; turn += 1) walk.after(2 * HOUR).fail()
    walk
      .after(2 * HOUR)
      .admit()
      .report(CDI.failing)
    return (fromTime(walk.status.nextRetryTime) ?? 0) - walk.now
  }

  it.each([
    [1, 5],
    [2, 10],
    [3, 20],
    [4, 40],
    [5, 60],
    [9, 60],
  ])('after download %i is %i minutes, give or take a tenth', (downloads, minutes) => {
    expect(wait(downloads)).toBeGreaterThanOrEqual(0.9 * minutes * MINUTE - 1)
    expect(wait(downloads)).toBeLessThanOrEqual(Math.min(1.1 * minutes * MINUTE + 1, HOUR))
  })

  it('is not shortened by a longest wait that is less than the first one', () => {
    const policy = { retryBackoffMs: 2 * HOUR, retryBackoffMaxMs: HOUR }
    for (const downloads of [1, 2, 3]) {
      expect(wait(downloads, policy)).toBeGreaterThanOrEqual(1.8 * HOUR)
      expect(wait(downloads, policy)).toBeLessThanOrEqual(2 * HOUR)
    }
  })

  it('is the same for the same attempt, however often it is planned', () => {
    expect(wait(2)).toBe(wait(2))
  })

  it('differs between attempts by more than the doubling', () => {
    const shares = [1, 2, 3, 4].map((downloads) => wait(downloads) / 2 ** downloads)
    expect(new Set(shares.map(Math.round)).size).toBeGreaterThan(1)
  })
})

describe('retryLimit', () => {
  const failedOnce = () => {
    const walk = new Walk()
    walk.settle().fail()
    return walk
  }

  it('lowered below what was used ends the waiting', () => {
    expect(failedOnce().setPolicy({ retryLimit: 0 }).settle().stand).toBe('Failed/RetryLimitExceeded')
  })

  it('raised while it waits grants more', () => {
    const walk = failedOnce().setPolicy({ retryLimit: 3 })
    for (let turn = 0; turn < 3; turn += 1) walk.after(2 * HOUR).fail()
    expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(4)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
  })

  it('raised afterwards revives what had failed by it, from the end of its last attempt, and pays for no more than it allows', () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    walk.settle().fail()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    walk.after(MINUTE).setPolicy({ retryLimit: 2 }).settle()
    expect(walk.stand).toBe('Queued/RetryBackoff')
    expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(4.5 * MINUTE)
    expect(due(walk) - ended(walk)).toBeLessThanOrEqual(5.5 * MINUTE)
    walk.after(5 * MINUTE)
    expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
    for (let turn = 0; turn < 2; turn += 1) walk.after(2 * HOUR).fail()
    expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.setPolicy({ retryLimit: 2 }).after(HOUR).stand).toBe('Failed/RetryLimitExceeded')
  })

  it('lowered and raised again leaves an image where it was', () => {
    const walk = failedOnce()
    const { nextRetryTime } = walk.status
    walk.setPolicy({ retryLimit: 0 }).settle()
    expect(walk.status.nextRetryTime).toBeUndefined()
    walk.setPolicy({ retryLimit: 2 }).settle()
    expect([walk.stand, walk.status.nextRetryTime]).toEqual(['Queued/RetryBackoff', nextRetryTime])
  })

  it('does not take away the turn that an image has, nor stop what runs', () => {
    const walk = failedOnce().after(2 * HOUR)
    expect(walk.stand).toBe('Queued/Queued')
    walk.admit().report(CDI.running).setPolicy({ retryLimit: 1 }).settle()
    expect(walk.stand).toBe('Syncing/Syncing')
  })

  it('raised revives nothing that no retry can mend', () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    walk.settle().fail(CDI.notFound).setPolicy({ retryLimit: 9 }).after(HOUR)
    expect(walk.stand).toBe('Failed/NotFound')
  })
})

describe('the backoff of the policy, changed while an image waits for its next attempt', () => {
  const waiting = () => {
    const walk = new Walk()
    walk.settle().fail().after(MINUTE)
    expect(walk.stand).toBe('Queued/RetryBackoff')
    return walk
  }

  it.each([
    ['brings it forward', '2m', 2 * MINUTE],
    ['pushes it back', '40m', 40 * MINUTE],
  ])(
    '%s, counted from the end of the attempt, and the status and the message tell the new time',
    (_what, _text, ms) => {
      const walk = waiting().setPolicy({ retryBackoffMs: ms }).settle()
      expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(0.9 * ms)
      expect(due(walk) - ended(walk)).toBeLessThanOrEqual(1.1 * ms)
      expect(walk.status.message).toContain(walk.status.nextRetryTime)
      expect(walk.plan().requeue?.afterMs).toBe(due(walk) - walk.now)
      walk.after(due(walk) - walk.now - 1)
      expect(walk.stand).toBe('Queued/RetryBackoff')
      expect(walk.after(1).stand).toBe('Queued/Queued')
    },
  )

  it('to less than has passed already starts it at once', () => {
    expect(
      waiting()
        .setPolicy({ retryBackoffMs: 10 * SECOND })
        .settle().stand,
    ).toBe('Queued/Queued')
  })

  it('changes it also for an attempt that cost nothing', () => {
    const walk = new Walk()
    const how = { running: { status: 'False', reason: 'CreateContainerConfigError', message: 'secret "n" not found' } }
    walk
      .settle()
      .fail(how)
      .setPolicy({ retryBackoffMs: 40 * MINUTE })
      .settle()
    expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(36 * MINUTE)
  })
})
