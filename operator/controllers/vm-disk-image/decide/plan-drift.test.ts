import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../runtime/times.fixtures.ts'
import { aDataVolume, CDI, childMeta } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'

describe('drift', () => {
  it('of a deleted alias is mended', () => {
    const walk = new Walk()
    walk.publish()
    walk.set({ dataSource: undefined }).settle()
    expect(walk.log.at(-1)).toBe('apply DataSource img')
    expect(walk.stand).toBe('Succeeded/Synced')
  })

  it('of an edited alias is mended', () => {
    const walk = new Walk()
    walk.publish()
    const { dataSource } = walk.world
    if (dataSource === undefined) throw new Error('no alias')
    walk.set({ dataSource: { ...dataSource, spec: { source: { pvc: { namespace: 'team', name: 'x' } } } } })
    expect(walk.plan().apply).toMatchObject([{ kind: 'DataSource', metadata: { name: 'img' } }])
  })

  it('of a deleted snapshot is mended without the queue', () => {
    const walk = new Walk()
    walk.publish()
    walk.set({ snapshots: [] }).settle()
    expect(walk.condition('Ready')).toBe('False')
    expect(walk.stand).toBe('Snapshotting/Snapshotting')
    walk.snapshotReady()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.log.filter((line) => line === 'claim')).toHaveLength(1)
  })

  it('of a deleted golden volume is none, with a ready snapshot', () => {
    const walk = new Walk()
    walk.publish()
    const before = walk.log.length
    walk.dropDataVolumes().settle()
    expect(walk.log.slice(before)).toEqual([])
    expect(walk.stand).toBe('Succeeded/Synced')
  })

  it('of both goes through the queue, with a new ticket and a new budget', () => {
    const walk = new Walk()
    walk.publish()
    walk.dropDataVolumes().set({ snapshots: [] }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.condition('Ready')).toBe('False')
    expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
  })

  it('of a deleted claim, where the claim is the artifact, stops what CDI does by itself and queues', () => {
    const walk = new Walk({ spec: { snapshotClass: undefined } })
    walk.publish()
    const notBound = { status: 'False', reason: 'Pending', message: '' }
    walk.set({ claims: [] }).report({ phase: 'Succeeded', progress: 'N/A', bound: notBound })
    expect(walk.log.at(-1)).toBe(`delete DataVolume ${walk.childName}`)
    walk.importersGone()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.condition('Ready')).toBe('False')
  })

  it('of a deleted claim beside a snapshot stops the second import and leaves the artifact in service', () => {
    const walk = new Walk()
    walk.publish()
    const notBound = { status: 'False', reason: 'Pending', message: '' }
    walk.set({ claims: [] }).report({ phase: 'Succeeded', progress: 'N/A', bound: notBound })
    expect(walk.log.at(-1)).toBe(`delete DataVolume ${walk.childName}`)
    expect(walk.status.phase).toBe('Succeeded')
    walk.importersGone()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.plan().start).toBeUndefined()
  })

  it('of a download is left alone as long as nobody knows whether it has a slot', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    const before = walk.log.length
    walk.set({ slot: undefined, isSlotKnown: false }).settle()
    expect(walk.log).toHaveLength(before)
    expect(walk.plan()).toMatchObject({ status: walk.status, remove: [], events: [] })
  })

  it('of a download that holds no slot is stopped and told, and blamed on nobody', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.set({ slot: undefined })
    expect(walk.plan().events).toMatchObject([{ message: expect.stringContaining('no slot in the ledger') }])
    walk.settle()
    expect(walk.log).toContain(`delete DataVolume ${walk.childName}`)
    walk.importersGone()
    expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'NotAdmitted' }])
    expect(walk.stand).toBe('Queued/Queued')
  })
})

describe('a cancelled download', () => {
  const failedOnce = () => {
    const walk = new Walk({ policy: { retryLimit: 2 } })
    walk.settle().fail().after(HOUR)
    expect(walk.status.budget?.downloads).toBe(1)
    return walk
  }

  /** A DataVolume of another revision appears, and is deleted. */
  const stray = (walk: Walk, uid = 'stray') => {
    const metadata = childMeta('img-01234567', '01234567', { uid })
    walk.set({ dataVolumes: [aDataVolume({ ...CDI.running, metadata })] }).settle()
    expect(walk.log.at(-1)).toBe('delete DataVolume img-01234567')
    walk.importersGone()
  }

  it('that had no slot leaves the retries as they were', () => {
    const walk = failedOnce()
    for (let turn = 0; turn < 4; turn += 1) {
      walk.admit().report(CDI.running).set({ slot: undefined }).settle().importersGone()
      expect(walk.lastAttempt).toMatchObject({ number: 2, outcome: 'Cancelled', reason: 'NotAdmitted' })
      expect(walk.stand).toBe('Queued/Queued')
    }
    expect(walk.status.budget?.downloads).toBe(1)
    expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
  })

  it('of another revision that turns up while the image waits leaves retries and ticket as they were', () => {
    const walk = failedOnce()
    const { ticket } = walk.status
    for (let turn = 0; turn < 4; turn += 1) {
      stray(walk, `stray-${turn}`)
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
      expect(walk.stand).toBe('Queued/Queued')
    }
    expect(walk.status).toMatchObject({ ticket, budget: { downloads: 1 } })
    expect(walk.plan().start).toMatchObject({ ticket, admissible: true })
  })

  it('does not hide a failure before it that no retry can mend', () => {
    const walk = new Walk()
    walk.settle().fail(CDI.notFound)
    expect(walk.stand).toBe('Failed/NotFound')
    stray(walk)
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
    expect(walk.stand).toBe('Failed/NotFound')
    expect(walk.plan().start).toBeUndefined()
  })

  it('does not hide that the retries were used up before', () => {
    const walk = new Walk({ policy: { retryLimit: 1 } })
    walk.settle().fail().after(HOUR).fail().after(HOUR)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    stray(walk)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.plan().start).toBeUndefined()
  })
})
