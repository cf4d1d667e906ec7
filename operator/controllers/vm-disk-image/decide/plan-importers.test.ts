import { describe, expect, it } from 'vitest'
import { toTime } from '../../../base/time.ts'
import { NOT_STARTED } from '../../../cluster/importer-container.ts'
import { HOUR, MINUTE, SECOND } from '../../../runtime/times.fixtures.ts'
import { aPod, CDI } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup } from '../image-world.fixtures.ts'

describe('a claim of ours whose DataVolume is gone', () => {
  it.each([
    ['is in use', 'going', 'Queued/Stopping', 'False'],
    ['nobody deletes', 'orphaned', 'Queued/LeftoverClaim', 'True'],
  ] as const)(
    'and that %s is waited for without a slot, and then the image goes on with its ticket',
    (_what, leftover, stand, isStalled) => {
      const walk = new Walk({ lookup: aLookup({ leftoverClaim: leftover }) }).settle()
      expect([walk.stand, walk.condition('Stalled')]).toEqual([stand, isStalled])
      expect(walk.status.message).toContain(`PersistentVolumeClaim ${walk.childName}`)
      expect(walk.status.message?.includes('delete it')).toBe(isStalled === 'True')
      const before = walk.log.length
      walk.after(HOUR).after(HOUR)
      expect(walk.log).toHaveLength(before)
      expect(walk.plan().start).toBeUndefined()
      walk.set({ lookup: aLookup() }).settle()
      expect(walk.condition('Stalled')).toBe('False')
      expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
    },
  )
})

describe('an importer pod whose DataVolume is gone', () => {
  it('holds off the next download until it is gone, and costs the image neither its ticket nor a slot', () => {
    const walk = new Walk()
    walk.set({ lookup: aLookup({ leftoverImporter: 'left over' }) }).settle()
    expect(walk.stand).toBe('Queued/Stopping')
    expect(walk.plan().start).toBeUndefined()
    walk.after(HOUR)
    expect(walk.plan().start).toBeUndefined()
    walk.set({ lookup: aLookup() }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
  })

  it('withdraws a download that was claimed already', () => {
    const walk = new Walk()
    walk.settle().claim()
    expect(walk.plan().start).toBeDefined()
    walk.set({ lookup: aLookup({ leftoverImporter: 'left over' }) })
    expect(walk.plan().start).toBeUndefined()
  })
})

describe('an importer', () => {
  it('is noted for a leader after us once the download is long enough to matter, in one write', () => {
    const walk = new Walk()
    walk.settle().admit()
    walk.set({ observation: { ...walk.world.observation, importerPodUid: 'first' } }).report(CDI.running)
    const writes = walk.log.length
    walk.after(29 * SECOND)
    expect(walk.log).toHaveLength(writes)
    walk.after(SECOND)
    expect(walk.status.importerPodUID).toBe('first')
    walk.after(MINUTE).after(MINUTE)
    expect(walk.log).toHaveLength(writes + 1)
  })

  it('that is being deleted unfinished fails the attempt, and each run of it is paid for', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.observe({ importers: [aPod('first')], starts: 2, isImporterLost: true })
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'Evicted', downloads: 2 })
    expect(walk.status.budget?.downloads).toBe(2)
  })

  it('that has failed is deleted right after its DataVolume, named before that, and paid for when it runs once more', () => {
    const walk = new Walk({ policy: { retryLimit: 1 } })
    walk.settle().admit().report(CDI.running)
    const ended = { reason: 'Error', exitCode: 1, message: 'unexpected EOF' }
    const failed = aPod('first', { importer: { starts: 1, isRunning: false, ended } })
    const dataVolumeUid = walk.world.dataVolumes[0]?.metadata.uid
    walk.observe({ dataVolumeUid, importers: [failed], starts: 1 })
    expect(walk.log.slice(-3)).toEqual([
      'status Syncing/Stopping',
      `delete DataVolume ${walk.childName}`,
      `delete Pod ${failed.metadata.name}`,
    ])
    expect(walk.status.importerPodUID).toBe('first')
    expect(walk.status.budget?.downloads).toBe(1)
    walk.observe({ starts: 2 })
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', downloads: 2 })
    expect(walk.status.budget?.downloads).toBe(2)
    walk.importersGone().release()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
  })

  it('that never ran costs nothing, and each such attempt makes the next wait longer', () => {
    const walk = new Walk({ policy: { retryBackoffMs: MINUTE, retryBackoffMaxMs: HOUR } })
    walk.settle()
    const waits = [1, 2, 3, 4].map((unstarted) => {
      walk.admit().observe({ starts: 0, unchangedMs: 15 * MINUTE })
      expect(walk.lastAttempt).toMatchObject({ number: 1, outcome: 'Cancelled', reason: 'ImporterNotStarted' })
      expect(walk.lastAttempt).toMatchObject({ downloads: 0 })
      expect(walk.status.budget).toMatchObject({ downloads: 0, unstarted })
      const waitMs = Date.parse(walk.status.nextRetryTime ?? '') - walk.now
      walk.importersGone().release().after(waitMs)
      return waitMs / MINUTE
    })
    for (const [at, wait] of waits.entries()) expect(wait / 2 ** at).toBeCloseTo(1, 0)
    walk.admit().report(CDI.failing)
    expect(walk.status.budget).toEqual({ key: expect.any(String), downloads: 1 })
  })

  it('is not said to download before it runs, and what it waits for is only told when that lasts', () => {
    const walk = new Walk()
    walk.settle().admit()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(2 * SECOND)
    walk.after(2 * SECOND)
    expect(walk.stand).toBe('Syncing/Starting')
    expect(walk.status.message).toBe('waiting for CDI to act on its DataVolume, attempt 1 of 3')
    const claimed = { status: 'False', reason: 'Pending', message: 'PVC img-0 Pending' }
    walk.report({ phase: 'Pending', bound: claimed })
    expect(walk.status.message).toBe('waiting for its volume, attempt 1 of 3')
    // It never ran, and its node is lost.
    const leaving = aPod('first', { importer: NOT_STARTED })
    const metadata = { ...leaving.metadata, deletionTimestamp: toTime(walk.now) }
    walk.observe({ importers: [{ ...leaving, metadata }], starts: 0 })
    walk.report({ phase: 'ImportScheduled' })
    expect(walk.status.message).toBe('waiting for its importer pod, which is being deleted, to be gone, attempt 1 of 3')
    walk.observe({ importers: [], starts: undefined })
    walk.report(CDI.running)
    expect(walk.stand).toBe('Syncing/Syncing')
    expect(walk.status.message).toBe('downloading, attempt 1 of 3')
  })

  it('is waited for where CDI acts on nothing, however long, and the image says so once', () => {
    const walk = new Walk()
    walk
      .settle()
      .admit()
      .after(2 * SECOND)
    const writes = walk.log.length
    walk.set({ isCdiAway: true }).observe({ unchangedMs: HOUR })
    walk.after(10 * HOUR)
    expect(walk.stand).toBe('Syncing/CDINotResponding')
    expect(walk.status.attempts).toBeUndefined()
    expect(walk.log).toHaveLength(writes + 1)
    walk.set({ isCdiAway: false }).observe({ unchangedMs: 0 }).report(CDI.running)
    expect(walk.stand).toBe('Syncing/Syncing')
  })

  it('that stalls is stopped in time without any event', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(30 * SECOND)
    walk.set({ observation: { ...walk.world.observation, unchangedMs: 15 * MINUTE } }).after(15 * MINUTE)
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'Stalled' })
  })
})
