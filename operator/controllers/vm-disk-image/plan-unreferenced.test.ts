import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, NO_REFERENCES, ONE_USER, Walk, type WorldOverrides } from './world.fixtures.ts'

const ofOurs = (more: WorldOverrides = {}) =>
  new Walk({ metadata: { labels: { [LABELS.createdBy]: 'VirtualMachine' } }, references: ONE_USER, ...more })

describe('an image that was made for somebody', () => {
  it('leaves the queue when nobody refers to it any more, and queues again, at the end, when somebody does', () => {
    const walk = ofOurs()
    walk.settle()
    const { ticket } = walk.status
    expect(walk.plan().start).toBeDefined()
    walk.set({ references: NO_REFERENCES }).settle()
    expect(walk.stand).toBe('Queued/Unreferenced')
    expect(walk.plan().start).toBeUndefined()
    expect([walk.status.ticket, walk.status.queuePosition]).toEqual([undefined, undefined])
    walk.set({ references: ONE_USER }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    expect(walk.plan().start?.admissible).toBe(true)
  })

  it('does not leave the queue before anybody has referred to it', () => {
    const walk = ofOurs({ references: NO_REFERENCES })
    walk.settle().after(200 * HOUR)
    expect(walk.plan()).toMatchObject({ start: { admissible: true } })
    expect(walk.plan().reclaim).toBeUndefined()
  })

  it.each<[string, (walk: Walk) => void, string]>([
    ['before its download', () => undefined, 'Queued/Unreferenced'],
    ['after it has failed for good', (walk) => void walk.fail(), 'Failed/RetryLimitExceeded'],
  ])('is deleted when the time of the policy has passed since the last reference went, %s', (_name, lead, stand) => {
    const walk = ofOurs({ policy: { unreferencedTtlMs: 72 * HOUR, retryLimit: 0 } })
    lead(walk.settle())
    expect(walk.plan().reclaim).toBeUndefined()
    walk.set({ references: NO_REFERENCES }).settle()
    expect(walk.stand).toBe(stand)
    expect(walk.plan().reclaim).toBeUndefined()
    expect(walk.plan().wake?.afterMs).toBe(72 * HOUR)
    walk.after(72 * HOUR - 1)
    expect(walk.plan().reclaim).toBeUndefined()
    walk.after(1)
    expect(walk.plan().reclaim).toBe(true)
  })

  it('is deleted at once with a time of zero', () => {
    const walk = ofOurs({ policy: { unreferencedTtlMs: 0 } })
    walk.settle().set({ references: NO_REFERENCES }).settle()
    expect(walk.plan().reclaim).toBe(true)
  })
})

it('an image of a person stays in the queue, whoever refers to it', () => {
  const walk = new Walk({ references: ONE_USER })
  walk.settle().set({ references: NO_REFERENCES }).settle()
  expect(walk.plan().start?.admissible).toBe(true)
})
