import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aDataVolume, aPod, CDI, childMeta } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import {
  aLookup,
  type ImageWorldOverrides,
  NO_REFERENCES,
  ONE_USER,
} from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { toTime } from '../../../base/time.ts'
import { NOT_STARTED } from '../../../cluster/importer-container.ts'

const eventsOf = (walk: ImageWalk) => walk.plan().events.map(({ type, reason }) => `${type} ${reason}`)

const ofOurs = (more: ImageWorldOverrides = {}) =>
  new ImageWalk({ metadata: { labels: { [LABELS.createdBy]: 'VirtualMachine' } }, references: ONE_USER, ...more })

const TTL = 2 * MINUTE

describe('stopping', () => {
  describe('a download that nobody needs any more', () => {
    const running = () => {
      const walk = new ImageWalk({
        references: ONE_USER,
        policy: { userReclaimPolicy: 'Delete', userUnreferencedTtlMs: TTL },
      })
      walk.settle().admit().report(CDI.running)
      return walk
        .set({ references: NO_REFERENCES })
        .settle()
        .after(TTL - 1)
    }

    it('is stopped first, if a live look says the same, and written down as that', () => {
      const walk = running()
      expect(walk.stand).toBe('Syncing/Syncing')
      walk.now += 1
      expect(walk.plan()).toMatchObject({
        onlyIf: [{ unreferenced: { namespace: 'team', name: 'img' }, by: 'anyone' }],
        remove: [{ kind: 'DataVolume' }],
      })
      expect(walk.isReclaimed).toBe(false)
      walk.settle()
      expect(walk.stand).toBe('Syncing/Stopping')
      expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'Unreferenced' }])
      expect(walk.status.budget?.downloads).toBe(0)
      walk.importersGone()
      expect(walk.isReclaimed).toBe(false)
      expect(walk.release().isReclaimed).toBe(true)
    })

    it('begins again, at the end of the queue, where somebody comes before the image has gone', () => {
      const walk = running().after(1)
      walk.set({ references: ONE_USER }).settle()
      expect(walk.stand).toBe('Syncing/Stopping')
      walk.importersGone().release()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.plan()).toMatchObject({ start: { attempt: 1, admissible: true } })
      expect(walk.isReclaimed).toBe(false)
    })
  })

  describe('a failure', () => {
    it.each([
      [undefined, /waiting until its importer pod is gone/],
      ['claim', /waiting until its claim is gone, which CDI may still fill/],
      ['doubtful', /waiting until a pod or claim that may be of this download is gone, for two minutes at most/],
      [
        'orphaned',
        /waiting for the end of its importer pod, which CDI runs .* PersistentVolumeClaim \S+-[0-9a-f]{8} is still there.*delete it to free the slot now/,
      ],
    ] as const)('says what keeps its slot: %s', (slotWaitsFor, message) => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running).report(CDI.failing)
      walk.set({ slotWaitsFor }).settle()
      expect(walk.status).toMatchObject({ phase: 'Syncing', message: expect.stringMatching(message) })
    })

    it('says of a DataVolume that has lost its owner what becomes of it', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running).report(CDI.failing)
      walk.set({ lookup: aLookup({ foreignSlotVolume: 'DataVolume img-1' }) }).settle()
      expect(walk.status.message).toMatch(/waiting for the end of DataVolume img-1, which has lost its owner/)
    })

    it('that only the absence of an importer shows is written where its DataVolume is as it was seen: it may have succeeded', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const [dataVolume] = walk.world.dataVolumes
      walk.set({ observation: { ...walk.world.observation, starts: 1, isImporterLost: true } })
      const { name, uid, resourceVersion } = dataVolume?.metadata ?? { name: '' }
      expect(walk.plan().status.attempts?.at(-1)?.reason).toBe('Evicted')
      expect(walk.plan().onlyIf).toEqual([{ unchanged: expect.objectContaining({ name, uid, resourceVersion }) }])
    })

    it('names the importer that keeps its slot, and says how to end one that does not end', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running).report(CDI.failing)
      const { uid = '', name } = aPod('stuck').metadata
      const pod = aPod(uid, { metadata: { ...aPod(uid).metadata, deletionTimestamp: toTime(walk.now) } })
      walk.set({ observation: { ...walk.world.observation, importers: [pod] } }).settle()
      expect(walk.status.message).toMatch(new RegExp(`waiting until its importer pod ${name} is gone; next attempt at`))
      walk.after(walk.plan().requeue?.afterMs ?? 0)
      expect(walk.status.message).toContain(`kubectl -n team delete pod ${name} --force`)
    })

    it('is written down before anything is torn down, and the slot is held until the importer is gone', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const before = walk.log.length
      walk.report(CDI.failing)
      expect(walk.log.slice(before)).toEqual(['status Syncing/Stopping', `delete DataVolume ${walk.childName}`])
      expect(walk.lastAttempt).toMatchObject({
        number: 1,
        outcome: 'Failed',
        reason: 'ImporterFailed',
        message: CDI.failing.running.message,
        downloads: 1,
      })
      expect(walk.status.nextRetryTime).toBeDefined()
      walk.importersGone()
      expect(walk.stand).toBe('Syncing/Stopping')
      walk.release()
      expect(walk.stand).toBe('Queued/RetryBackoff')
      expect(walk.status.ticket).toBeUndefined()
      expect(walk.plan().start).toBeUndefined()
    })

    it('that has cost nothing is only written where its DataVolume is as it was seen: an importer may have begun', () => {
      const walk = new ImageWalk()
      walk.settle().admit()
      const [dataVolume] = walk.world.dataVolumes
      if (dataVolume === undefined) throw new Error(walk.stand)
      const { name, uid, resourceVersion } = dataVolume.metadata
      const bound = { status: 'False', reason: 'ErrExceededQuota', message: 'exceeded quota' }
      walk.set({ dataVolumes: [{ ...dataVolume, phase: 'Pending', bound }] })
      expect(walk.plan().onlyIf).toEqual([{ unchanged: expect.objectContaining({ name, uid, resourceVersion }) }])
      walk.set({ dataVolumes: [{ ...dataVolume, ...CDI.failing }] })
      expect([walk.plan().status.reason, walk.plan().onlyIf]).toEqual(['Stopping', undefined])
    })

    it('counts the restarts that nobody saw', () => {
      const walk = new ImageWalk()
      walk.settle().fail({ ...CDI.running, restartCount: 2 })
      expect(walk.lastAttempt?.downloads).toBe(3)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    })

    it('is told once', () => {
      const walk = new ImageWalk()
      walk.settle().admit()
      const { dataVolumes } = walk.world
      walk.set({ dataVolumes: dataVolumes.map((one) => ({ ...one, ...CDI.failing })) })
      expect(eventsOf(walk)).toEqual(['Warning ImporterFailed'])
      walk.settle()
      expect(eventsOf(walk)).toEqual([])
    })

    it('of a DataVolume that somebody deletes while it runs counts as one', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.dropDataVolumes().settle()
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'DataVolumeDeleted', downloads: 1 })
      expect(walk.stand).toBe('Syncing/Stopping')
      expect(walk.plan().start).toBeUndefined()
      expect(walk.release().stand).toBe('Queued/RetryBackoff')
    })

    it('of a DataVolume that is on its way out by somebody else counts once, not twice', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const going = walk.world.dataVolumes.map((one) => ({
        ...one,
        metadata: { ...one.metadata, deletionTimestamp: new Date(walk.now).toISOString() },
      }))
      walk.set({ dataVolumes: going }).settle()
      walk.importersGone().release()
      expect(walk.status.attempts).toHaveLength(1)
      expect(walk.status.budget?.downloads).toBe(1)
    })

    it('says when the teardown hangs, and why the slot is kept', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.failing)
      expect(walk.status.message).not.toContain('webhook')
      walk.after(MINUTE)
      expect(walk.status.message).toContain('cdi-apiserver')
      expect(walk.stand).toBe('Syncing/Stopping')
    })
  })

  describe('a DataVolume of an attempt that has failed already', () => {
    it('is stopped at once: its create was carried out late, and it is not the next attempt', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.failing).settle()
      const { revision = '', attempts } = walk.status
      expect(attempts).toMatchObject([{ number: 1, outcome: 'Failed' }])
      const metadata = childMeta(`img-${revision}`, revision, {
        uid: 'late',
        annotations: { [ANNOTATIONS.attempt]: '1' },
      })
      walk.set({ dataVolumes: [aDataVolume({ ...CDI.running, metadata })] })
      expect(walk.plan().remove).toMatchObject([{ kind: 'DataVolume', uid: 'late' }])
      walk.settle()
      expect(walk.status.attempts).toEqual(attempts)
    })
  })

  describe('another revision', () => {
    const other = { url: 'https://images.example/b.qcow2' }

    it('while Syncing cancels first and takes a new ticket', () => {
      const walk = new ImageWalk()
      walk.settle()
      const { ticket } = walk.status
      walk.admit().report(CDI.running)
      const name = walk.childName
      walk.edit(other).settle()
      expect(walk.log).toContain(`delete DataVolume ${name}`)
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
      expect(walk.stand).toBe('Syncing/Stopping')
      expect(walk.plan().start).toBeUndefined()
      walk.importersGone()
      expect(walk.plan().start).toBeUndefined()
      walk.release()
      expect(walk.stand).toBe('Queued/Queued')
      expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
      expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
      expect(walk.status.budget?.downloads).toBe(0)
    })

    it('does not pay for a download of the one before that somebody deleted', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.dropDataVolumes().edit(other).settle()
      walk.release()
      expect(walk.status.budget?.downloads).toBe(0)
      expect(walk.stand).toBe('Queued/Queued')
    })
  })

  describe('an importer', () => {
    it('that is being deleted unfinished fails the attempt, and each run of it is paid for', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.observe({ importers: [aPod('first')], starts: 2, isImporterLost: true })
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'Evicted', downloads: 2 })
      expect(walk.status.budget?.downloads).toBe(2)
    })

    it('that has failed is deleted right after its DataVolume, named before that, and paid for when it runs once more', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 1 } })
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
      const walk = new ImageWalk({ policy: { retryBackoffMs: MINUTE, retryBackoffMaxMs: HOUR } })
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
  })
})

describe('clearing', () => {
  describe('a finished DataVolume whose claim somebody deleted', () => {
    it('is told as that', () => {
      const walk = new ImageWalk()
      walk.publish()
      const metadata = childMeta(walk.childName, walk.status.revision ?? '', { uid: 'dv-1' })
      const bound = { status: 'False', reason: 'Pending', message: '' }
      walk.set({ dataVolumes: [aDataVolume({ ...CDI.succeeded, bound, progress: 'N/A', metadata })] })
      expect(walk.plan().events).toMatchObject([{ type: 'Warning', reason: 'ClaimDeleted' }])
    })
  })

  describe('drift', () => {
    it('of a deleted claim, where the claim is the artifact, stops what CDI does by itself and queues', () => {
      const walk = new ImageWalk({ spec: { snapshotClass: undefined } })
      walk.publish()
      const notBound = { status: 'False', reason: 'Pending', message: '' }
      walk.set({ claims: [] }).report({ phase: 'Succeeded', progress: 'N/A', bound: notBound })
      expect(walk.log.at(-1)).toBe(`delete DataVolume ${walk.childName}`)
      walk.importersGone()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.condition('Ready')).toBe('False')
    })

    it('of a deleted claim beside a snapshot stops the second import and leaves the artifact in service', () => {
      const walk = new ImageWalk()
      walk.publish()
      const notBound = { status: 'False', reason: 'Pending', message: '' }
      walk.set({ claims: [] }).report({ phase: 'Succeeded', progress: 'N/A', bound: notBound })
      expect(walk.log.at(-1)).toBe(`delete DataVolume ${walk.childName}`)
      expect(walk.status.phase).toBe('Succeeded')
      walk.importersGone()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.plan().start).toBeUndefined()
    })

    it('of a download that holds no slot is stopped and told, and blamed on nobody', () => {
      const walk = new ImageWalk()
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
      const walk = new ImageWalk({ policy: { retryLimit: 2 } })
      walk.settle().fail().after(HOUR)
      expect(walk.status.budget?.downloads).toBe(1)
      return walk
    }

    /** A DataVolume of another revision appears, and is deleted. */
    const stray = (walk: ImageWalk, uid = 'stray') => {
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
      const walk = new ImageWalk()
      walk.settle().fail(CDI.notFound)
      expect(walk.stand).toBe('Failed/NotFound')
      stray(walk)
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
      expect(walk.stand).toBe('Failed/NotFound')
      expect(walk.plan().start).toBeUndefined()
    })

    it('does not hide that the retries were used up before', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 1 } })
      walk.settle().fail().after(HOUR).fail().after(HOUR)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      stray(walk)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.plan().start).toBeUndefined()
    })
  })
})

describe('unreported', () => {
  describe('drift', () => {
    it('of a download is left alone as long as nobody knows whether it has a slot', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const before = walk.log.length
      walk.set({ slot: undefined, isSlotKnown: false }).settle()
      expect(walk.log).toHaveLength(before)
      expect(walk.plan()).toMatchObject({ status: walk.status, remove: [], events: [] })
    })
  })
})

describe('running', () => {
  describe('a download that has begun', () => {
    it('is said to download until CDI has noticed its end', () => {
      const walk = new ImageWalk()
      walk
        .settle()
        .admit()
        .observe({ starts: 1, importers: [aPod('first')] })
      expect(walk.stand).toBe('Syncing/Syncing')
      const before = walk.log.length
      walk.observe({ starts: 0, importers: [aPod('first', { phase: 'Succeeded' })] })
      expect(walk.stand).toBe('Syncing/Syncing')
      expect(walk.log.slice(before)).toEqual([])
    })
  })

  describe('an importer', () => {
    it('is noted for a leader after us once the download is long enough to matter, in one write', () => {
      const walk = new ImageWalk()
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

    it('is not said to download before it runs, and what it waits for is only told when that lasts', () => {
      const walk = new ImageWalk()
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
      expect(walk.status.message).toBe(
        'waiting for its importer pod, which is being deleted, to be gone, attempt 1 of 3',
      )
      walk.observe({ importers: [], starts: undefined })
      walk.report(CDI.running)
      expect(walk.stand).toBe('Syncing/Syncing')
      expect(walk.status.message).toBe('downloading, attempt 1 of 3')
    })

    it('is told to be one of which nobody knows how far it is while CDI does not act on it', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running).set({ isCdiAway: true }).settle()
      expect([walk.stand, walk.status.message]).toEqual([
        'Syncing/Syncing',
        expect.stringMatching(/^downloading, attempt 1 of 3; CDI does not act on its DataVolume/),
      ])
    })

    it('is waited for where CDI acts on nothing, however long, and the image says so once', () => {
      const walk = new ImageWalk()
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
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(30 * SECOND)
      walk.set({ observation: { ...walk.world.observation, unchangedMs: 15 * MINUTE } }).after(15 * MINUTE)
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'Stalled' })
    })
  })
})

describe('admitted', () => {
  it('says that it is paused while nothing may begin, whatever its creates had before, and takes that back', () => {
    const walk = new ImageWalk()
    walk.settle().claim().set({ limit: 0 }).settle()
    expect([walk.stand, walk.status.message]).toEqual(['Queued/Paused', expect.stringContaining('it has a slot')])
    expect(walk.plan().start?.admissible).toBe(true)
    walk.set({ limit: 2 }).settle()
    expect([walk.stand, walk.status.message]).toEqual(['Queued/Queued', expect.stringContaining('waiting for')])
    walk.set({ isCreateFailing: true }).settle().set({ limit: 0 }).settle()
    expect(walk.stand).toBe('Queued/Paused')
    walk.set({ limit: 2 }).settle()
    expect(walk.stand).toBe('Queued/CreateFailed')
  })

  describe('a refused DataVolume', () => {
    it('that nobody answers for is told of while it is asked for', () => {
      const walk = new ImageWalk()
      walk.settle().claim().set({ isCreateFailing: true }).settle()
      expect(walk.stand).toBe('Queued/CreateFailed')
      expect(walk.status.message).toContain('cdi-apiserver')
      expect(walk.status.ticket).toBeDefined()
      expect(walk.plan().start?.admissible).toBe(true)
      walk.set({ isCreateFailing: false }).release().settle()
      expect(walk.stand).toBe('Queued/Queued')
    })
  })
})

describe('freeing', () => {
  describe('the happy path', () => {
    it('does not release or judge anything while the success waits for its slot to be freed', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const before = walk.log.length
      walk.report(CDI.succeeded)
      expect(walk.log.slice(before)).toEqual([])
      expect(walk.plan().start).toBeUndefined()
      expect(walk.plan().remove).toEqual([])
    })
  })

  describe('whatever is missing', () => {
    it('after the claim withdraws the wish for the download', () => {
      const walk = new ImageWalk()
      walk
        .settle()
        .claim()
        .set({ lookup: aLookup({ secret: 'missing' }) })
      expect(walk.plan().start).toBeUndefined()
      expect(walk.release().stand).toBe('Queued/SecretMissing')
    })
  })

  it('an image that has a slot, and no DataVolume yet, gives it back and goes', () => {
    const walk = new ImageWalk({ references: ONE_USER, spec: { reclaimPolicy: 'Delete', unreferencedTTL: '0s' } })
    walk.settle().claim().set({ references: NO_REFERENCES }).settle()
    expect(walk.plan().start).toBeUndefined()
    expect(walk.isReclaimed).toBe(false)
    expect(walk.release().isReclaimed).toBe(true)
  })

  it('an image that a machine had made gives its slot back where nothing refers to it any more, and stays until its time has passed', () => {
    const walk = ofOurs()
    walk.settle().claim().set({ references: NO_REFERENCES }).settle()
    expect(walk.plan().start).toBeUndefined()
    walk.release()
    expect(walk.stand).toBe('Queued/Unreferenced')
    expect(walk.isReclaimed).toBe(false)
  })

  describe('suspend', () => {
    it('starts nothing for a claim that it came too late for', () => {
      const walk = new ImageWalk()
      walk.settle().claim().edit({ suspend: true })
      expect(walk.plan().start).toBeUndefined()
      expect(walk.release().stand).toBe('Queued/Suspended')
    })
  })

  describe('another revision', () => {
    const other = { url: 'https://images.example/b.qcow2' }

    it('claimed in the last moment is not downloaded under the claim of the one before', () => {
      const walk = new ImageWalk()
      walk.settle().claim().edit(other)
      expect(walk.plan().start).toBeUndefined()
      walk.release()
      expect(walk.plan().start?.revision).toBe(walk.status.revision)
    })
  })

  describe('an importer pod whose DataVolume is gone', () => {
    it('withdraws a download that was claimed already', () => {
      const walk = new ImageWalk()
      walk.settle().claim()
      expect(walk.plan().start).toBeDefined()
      walk.set({ lookup: aLookup({ leftoverImporter: 'left over' }) })
      expect(walk.plan().start).toBeUndefined()
    })
  })
})
