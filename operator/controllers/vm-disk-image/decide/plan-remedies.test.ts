import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../runtime/times.fixtures.ts'
import { aDataVolume, CDI, childMeta, REFRESH, RETRY } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aPolicy } from '../image-world.fixtures.ts'

describe('an image that has failed for good', () => {
  const failed = (policy = {}, spec = {}) => {
    const walk = new Walk({ policy: { retryLimit: 0, ...policy }, spec })
    walk.settle().fail()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    return walk
  }

  it('says what revives it, and each of that does', () => {
    expect(failed().status.message).toContain(`annotation ${RETRY}`)
    expect(failed().status.message).toContain('policy key retryLimit')
    expect(failed().status.message).not.toContain(REFRESH)
    const retried = failed()
      .annotate({ [RETRY]: 'now' })
      .settle()
    expect(retried.plan().start).toMatchObject({ admissible: true })
    const allowed = failed().setPolicy({ retryLimit: 1 }).after(HOUR)
    expect(allowed.plan().start).toMatchObject({ admissible: true })
  })

  it('does not name the policy where no retry can mend it', () => {
    const walk = new Walk()
    walk.settle().fail(CDI.notFound)
    expect(walk.status.message).not.toContain('retryLimit')
  })

  it('says which fields the policy gave it, and how to take the current values', () => {
    const walk = failed({ defaultDiskSize: '5Gi' }, { diskSize: undefined })
    expect(walk.status.message).toContain('(diskSize: from the policy when the image was queued')
    expect(walk.status.message).toContain(`annotation ${REFRESH}`)
    walk
      .setPolicy({ defaultDiskSize: '50Gi' })
      .annotate({ [RETRY]: 'now' })
      .settle()
    expect(walk.plan().start?.target.diskSize).toBe('5Gi')
    walk.annotate({ [REFRESH]: 'now' }).settle()
    expect(walk.plan().start).toMatchObject({ admissible: true, target: { diskSize: '50Gi' } })
  })

  it('says so too where CDI refused the DataVolume', () => {
    const walk = new Walk()
    walk.settle()
    const { revision, target } = walk.plan().start ?? {}
    const refusal = {
      revision: revision ?? '',
      budgetKey: target?.budgetKey ?? '',
      reason: 'RejectedByCDI',
      message: 'Invalid source URL',
      until: undefined,
    } as const
    walk.set({ refusal }).settle()
    const { message } = walk.status
    expect(message).toContain(`annotation ${RETRY}`)
    // A new leader knows no refusals, and the message must not grow.
    walk.set({ refusal: undefined }).settle()
    expect([walk.stand, walk.status.message]).toEqual(['Failed/RejectedByCDI', message])
  })
})

describe('a spec that is wrong for a while', () => {
  const WRONG = { diskSize: 'a lot' }
  const RIGHT = { diskSize: '10Gi' }

  it('does not use up the retries that were left', () => {
    const walk = new Walk()
    walk.settle().fail()
    expect(walk.stand).toBe('Queued/RetryBackoff')
    walk.edit(WRONG).settle()
    expect(walk.stand).toBe('Failed/InvalidSpec')
    walk.edit(RIGHT).settle()
    expect(walk.stand).toBe('Queued/RetryBackoff')
    walk.after(HOUR)
    expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
  })

  it.each<[string, (walk: Walk) => void]>([
    ['waits', () => undefined],
    ['downloads', (walk) => void walk.admit().report({ ...CDI.running, progress: '42.0%' })],
    ['waits for its next attempt', (walk) => void walk.fail()],
  ])('leaves nothing in the status that was true only while the image %s', (_name, lead) => {
    const walk = new Walk()
    lead(walk.settle())
    walk.edit(WRONG).settle()
    expect(walk.stand).toBe('Failed/InvalidSpec')
    const { ticket, queuePosition, queuePositionTime, progress, nextRetryTime } = walk.status
    expect({ ticket, queuePosition, queuePositionTime, progress, nextRetryTime }).toEqual({})
  })
})

describe('an image whose defaults are not written down yet', () => {
  it('is not admitted: a leader after us would freeze those of its own policy', () => {
    const walk = new Walk({ spec: { diskSize: undefined }, policy: { defaultDiskSize: '5Gi' } })
    walk.settle()
    expect(walk.plan().start?.admissible).toBe(true)
    const { image } = walk.world
    walk.set({ image: { ...image, status: { ...image.status, defaults: { diskSize: '4Gi', secretRef: 'x' } } } })
    expect(walk.plan().start?.target.defaults).toEqual({ diskSize: '4Gi', secretRef: 'x' })
    expect(walk.plan().start?.admissible).toBe(true)
    walk.set({
      image: { ...image, status: { ...image.status, defaults: undefined } },
      policy: aPolicy({ defaultDiskSize: '6Gi' }),
    })
    expect(walk.plan().start).toMatchObject({ admissible: false, target: { defaults: { diskSize: '6Gi' } } })
  })
})

describe('a finished DataVolume whose claim somebody deleted', () => {
  it('is told as that', () => {
    const walk = new Walk()
    walk.publish()
    const metadata = childMeta(walk.childName, walk.status.revision ?? '', { uid: 'dv-1' })
    const bound = { status: 'False', reason: 'Pending', message: '' }
    walk.set({ dataVolumes: [aDataVolume({ ...CDI.succeeded, bound, progress: 'N/A', metadata })] })
    expect(walk.plan().events).toMatchObject([{ type: 'Warning', reason: 'ClaimDeleted' }])
  })
})
