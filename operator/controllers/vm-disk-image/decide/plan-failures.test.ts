import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { fromTime } from '../../../base/time.ts'
import { HOUR, MINUTE } from '../../../runtime/times.fixtures.ts'
import { aDataVolume, CDI, childMeta, RETRY } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'

const eventsOf = (walk: Walk) => walk.plan().events.map(({ type, reason }) => `${type} ${reason}`)

describe('a failure', () => {
  it.each([
    [undefined, /waiting until its importer pod is gone/],
    ['claim', /waiting until its claim is gone, which CDI may still fill/],
    ['doubtful', /waiting until a pod or claim that may be of this download is gone, for two minutes at most/],
    [
      'abandoned',
      /waiting until its importer pod is gone, which CDI runs .* PersistentVolumeClaim \S+-[0-9a-f]{8} is still there.*delete it to free the slot now/,
    ],
  ] as const)('says what keeps its slot: %s', (slotWaitsFor, message) => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running).report(CDI.failing)
    walk.set({ slotWaitsFor }).settle()
    expect(walk.status).toMatchObject({ phase: 'Syncing', message: expect.stringMatching(message) })
  })

  it('is written down before anything is torn down, and the slot is held until the importer is gone', () => {
    const walk = new Walk()
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
    const walk = new Walk()
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

  it('that only the absence of an importer shows is written where its DataVolume is as it was seen: it may have succeeded', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    const [dataVolume] = walk.world.dataVolumes
    walk.set({ observation: { ...walk.world.observation, starts: 1, isImporterLost: true } })
    const { name, uid, resourceVersion } = dataVolume?.metadata ?? { name: '' }
    expect(walk.plan().status.attempts?.at(-1)?.reason).toBe('Evicted')
    expect(walk.plan().onlyIf).toEqual([{ unchanged: expect.objectContaining({ name, uid, resourceVersion }) }])
  })

  it('is retried with a new ticket when its time has come', () => {
    const walk = new Walk()
    walk.settle()
    const first = walk.status.ticket
    walk.fail()
    const wait = (fromTime(walk.status.nextRetryTime) ?? 0) - walk.now
    expect(walk.plan().requeue?.afterMs).toBe(wait)
    walk.after(wait - 1)
    expect(walk.stand).toBe('Queued/RetryBackoff')
    walk.after(1)
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(first))
    expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
  })

  it('ends in Failed after one and retryLimit downloads', () => {
    const walk = new Walk()
    walk.settle()
    for (const attempt of [1, 2, 3]) {
      walk.after(2 * HOUR).fail()
      expect(walk.status.attempts).toHaveLength(attempt)
    }
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.condition('Stalled')).toBe('True')
    expect(walk.status.message).toContain('unexpected EOF')
    expect(walk.status.message).toContain('retry-requested-at')
    walk.after(1_000 * HOUR)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.plan().start).toBeUndefined()
    expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
  })

  it.each([
    ['NotFound', CDI.notFound],
    [
      'ChecksumMismatch',
      { phase: 'Failed', running: { status: 'False', reason: 'ChecksumError', message: 'checksum mismatch' } },
    ],
  ])('that no retry can mend is final at once: %s', (reason, how) => {
    const walk = new Walk()
    walk.settle().fail(how)
    expect(walk.stand).toBe(`Failed/${reason}`)
    expect(walk.status.nextRetryTime).toBeUndefined()
    expect(walk.after(1_000 * HOUR).stand).toBe(`Failed/${reason}`)
  })

  it('that a retry may mend, by what one attempt shows, is final when the next one ends in the same way', () => {
    const walk = new Walk({ spec: { sourceType: 'registry', url: 'docker://registry.example.com/empty:1' } })
    const message = 'Failed to find VM disk image file in the container image'
    const how = { ...CDI.failing, running: { ...CDI.failing.running, message } }
    walk.settle().fail(how)
    expect(walk.stand).toBe('Queued/RetryBackoff')
    walk.after(2 * HOUR).fail(CDI.failing)
    walk.after(4 * HOUR).fail(how)
    expect(walk.lastAttempt?.reason).toBe('ImporterFailed')
    const again = new Walk({ spec: { sourceType: 'registry', url: 'docker://registry.example.com/empty:1' } })
    again.settle().fail(how)
    again.after(2 * HOUR).fail(how)
    expect(again.stand).toBe('Failed/SourceInvalid')
  })

  it('counts the restarts that nobody saw', () => {
    const walk = new Walk()
    walk.settle().fail({ ...CDI.running, restartCount: 2 })
    expect(walk.lastAttempt?.downloads).toBe(3)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
  })

  it('that cost nothing is not counted, and is tried again as the same attempt', () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    const how = { running: { status: 'False', reason: 'CreateContainerConfigError', message: 'secret "n" not found' } }
    walk.settle()
    for (let turn = 0; turn < 7; turn += 1) {
      walk.after(2 * HOUR).fail(how)
      expect(walk.stand).toBe('Queued/RetryBackoff')
      expect(walk.status.budget?.downloads).toBe(0)
    }
    walk.after(2 * HOUR)
    expect(walk.plan().start?.attempt).toBe(1)
    expect(walk.status.attempts).toHaveLength(5)
  })

  it('is told once', () => {
    const walk = new Walk()
    walk.settle().admit()
    const { dataVolumes } = walk.world
    walk.set({ dataVolumes: dataVolumes.map((one) => ({ ...one, ...CDI.failing })) })
    expect(eventsOf(walk)).toEqual(['Warning ImporterFailed'])
    walk.settle()
    expect(eventsOf(walk)).toEqual([])
  })

  it('of a DataVolume that somebody deletes while it runs counts as one', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.dropDataVolumes().settle()
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed', reason: 'DataVolumeDeleted', downloads: 1 })
    expect(walk.stand).toBe('Syncing/Stopping')
    expect(walk.plan().start).toBeUndefined()
    expect(walk.release().stand).toBe('Queued/RetryBackoff')
  })

  it('of a DataVolume that is on its way out by somebody else counts once, not twice', () => {
    const walk = new Walk()
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
    const walk = new Walk()
    walk.settle().admit().report(CDI.failing)
    expect(walk.status.message).not.toContain('webhook')
    walk.after(MINUTE)
    expect(walk.status.message).toContain('cdi-apiserver')
    expect(walk.stand).toBe('Syncing/Stopping')
  })
})

describe('a refused DataVolume', () => {
  const refused = (until: number | undefined, reason: 'QuotaExceeded' | 'RejectedByCDI') => {
    const walk = new Walk()
    walk.settle()
    const { revision = '', budget } = walk.status
    walk.set({ refusal: { revision, budgetKey: budget?.key ?? '', reason, message: 'no', until } }).settle()
    return walk
  }

  it('that may be taken later waits, and says so', () => {
    const walk = new Walk()
    const late = refused(walk.now + MINUTE, 'QuotaExceeded')
    expect(late.stand).toBe('Queued/QuotaExceeded')
    expect(late.plan().requeue?.afterMs).toBe(MINUTE)
    late.after(MINUTE)
    expect(late.plan().start?.admissible).toBe(true)
  })

  it('that nobody answers for is told of while it is asked for', () => {
    const walk = new Walk()
    walk.settle().claim().set({ isCreateFailing: true }).settle()
    expect(walk.stand).toBe('Queued/CreateFailed')
    expect(walk.status.message).toContain('cdi-apiserver')
    expect(walk.status.ticket).toBeDefined()
    expect(walk.plan().start?.admissible).toBe(true)
    walk.set({ isCreateFailing: false }).release().settle()
    expect(walk.stand).toBe('Queued/Queued')
  })

  it('that will never be taken is a failure until the spec changes, also after a restart', () => {
    const walk = refused(undefined, 'RejectedByCDI')
    expect(walk.stand).toBe('Failed/RejectedByCDI')
    walk.set({ refusal: undefined }).settle()
    expect(walk.stand).toBe('Failed/RejectedByCDI')
    walk.annotate({ [RETRY]: '1' }).settle()
    expect(walk.stand).toBe('Queued/Queued')
  })

  it('is a failure by its reason alone: the words of the status decide nothing', () => {
    const walk = refused(undefined, 'RejectedByCDI')
    const { message: _message, ...wordless } = walk.status
    walk.set({ refusal: undefined, image: { ...walk.world.image, status: wordless } }).settle()
    expect(walk.stand).toBe('Failed/RejectedByCDI')
  })
})

describe('a DataVolume of an attempt that has failed already', () => {
  it('is stopped at once: its create was carried out late, and it is not the next attempt', () => {
    const walk = new Walk()
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

describe('an image that is too large', () => {
  const downloading = () => new Walk().settle().admit().report(CDI.running)

  it('keeps its artifact, and is told once', () => {
    const walk = new Walk().publish()
    const { artifact, revision } = walk.status
    const before = walk.log.length
    walk.resize(true).settle()
    expect(walk.stand).toBe('Failed/TooLarge')
    expect(walk.log.slice(before)).toEqual(['status Failed/TooLarge'])
    expect(walk.status).toMatchObject({ artifact, revision })
    expect(walk.condition('Ready')).toBe('True')
    walk.resize(false).settle()
    expect(walk.stand).toBe('Succeeded/Synced')
  })

  it('goes on to download, and costs no attempt', () => {
    const walk = downloading().resize(true).settle()
    expect(walk.plan().remove).toEqual([])
    walk.resize(false).settle().succeed().snapshotReady()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.status.attempts).toMatchObject([{ outcome: 'Succeeded' }])
  })

  it.each<[string, (walk: Walk) => Walk]>([
    ['fails', (walk) => walk.report({ restartCount: 1 })],
    ['takes longer than an attempt may', (walk) => walk.after(7 * HOUR)],
  ])('does not hold a slot with a download that %s', (_what, happen) => {
    const walk = happen(downloading().resize(true).settle())
    expect(walk.log.at(-1)).toMatch(/^delete DataVolume/)
    expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled' }])
  })

  it('is let go when somebody deletes it', () => {
    const walk = new Walk().publish().resize(true).settle().markDeleted().settle().importersGone()
    expect(walk.isGone).toBe(true)
  })
})

describe('a bad spec', () => {
  it('is told with the path of the field, and stops what runs', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.edit({ diskSize: 'huge' }).settle()
    expect(walk.stand).toBe('Failed/InvalidSpec')
    expect(walk.status.message).toContain('spec.diskSize')
    expect(walk.log.at(-1)).toMatch(/^delete DataVolume/)
  })

  it('that is good again while its download is still being torn down has not failed for that', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.edit({ diskSize: 'huge' }).step()
    expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'SpecChanged' }])
    walk.edit({ diskSize: '10Gi' }).settle()
    expect(walk.status.attempts).toHaveLength(1)
    expect(walk.status.budget?.downloads).toBe(0)
  })

  it('removes nothing that is finished', () => {
    const walk = new Walk()
    walk.publish()
    walk.edit({ diskSize: 'huge' }).settle()
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
    expect(walk.condition('Ready')).toBe('True')
  })
})
