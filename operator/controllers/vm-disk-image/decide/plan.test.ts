import { ANNOTATIONS, childName, shortHash } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { NOT_STARTED } from '../../../cluster/importer-container.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { HOUR, MINUTE, SECOND } from '../../../runtime/times.fixtures.ts'
import { aDataVolume, aPod, CDI, childMeta, REFRESH, RETRY, SPEC } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup, NO_REFERENCES, ONE_USER } from '../image-world.fixtures.ts'

const nameOf = (walk: Walk) => childName('img', walk.status.revision ?? '')
const lastAttempt = (walk: Walk) => walk.status.attempts?.at(-1)
const eventsOf = (walk: Walk) => walk.plan().events.map(({ type, reason }) => `${type} ${reason}`)

describe('the happy path', () => {
  it('writes what the picture says, in its order, and no more', () => {
    const walk = new Walk()
    walk.publish()
    const name = nameOf(walk)
    expect(walk.log).toEqual([
      'status Queued/Queued',
      'finalizer',
      'claim',
      'create DataVolume attempt 1',
      'status Syncing/Syncing',
      'release slot',
      'status Snapshotting/Snapshotting',
      `apply VolumeSnapshot ${name}`,
      'apply DataSource img',
      'status Succeeded/Synced',
    ])
    expect(walk.status).toMatchObject({
      phase: 'Succeeded',
      artifact: {
        kind: 'VolumeSnapshot',
        name,
        revision: walk.status.revision,
        snapshotClass: 'snap',
        restoreSize: '10Gi',
        volumeMode: 'Filesystem',
        accessModes: ['ReadWriteOnce'],
      },
      attempts: [{ number: 1, outcome: 'Succeeded', reason: 'Synced', downloads: 1, dataVolumeUID: 'dv-1' }],
      budget: { downloads: 0 },
    })
    const conditions = ['Ready', 'UpToDate', 'Reconciling', 'Stalled', 'Settled', 'Unreferenced'].map((one) =>
      walk.condition(one),
    )
    expect(conditions).toEqual(['True', 'True', 'False', 'False', 'True', 'True'])
    expect(walk.status.queuePosition).toBeUndefined()
  })

  it('ends with the claim as the artifact where there is no snapshot class', () => {
    const walk = new Walk({ spec: { snapshotClass: undefined } })
    walk.publish()
    expect(walk.log.slice(-3)).toEqual(['release slot', 'apply DataSource img', 'status Succeeded/Synced'])
    expect(walk.status.artifact).toMatchObject({
      kind: 'PersistentVolumeClaim',
      name: nameOf(walk),
      restoreSize: '11Gi',
      volumeMode: 'Filesystem',
    })
  })

  it('takes its version at first sight for a ticket', () => {
    const walk = new Walk({ metadata: { resourceVersion: '4711' } })
    walk.settle()
    expect(walk.status.ticket).toBe('4711')
    expect(walk.plan().start).toMatchObject({ ticket: '4711', attempt: 1, admissible: true })
  })

  it('is admissible only when ticket and finalizer are both seen', () => {
    const walk = new Walk()
    expect(walk.plan().start?.admissible).toBe(false)
    walk.settle()
    const { image } = walk.world
    walk.set({ image: { ...image, metadata: { ...image.metadata, finalizers: [] } } })
    expect(walk.plan().start?.admissible).toBe(false)
    walk.set({ image: { ...image, status: { ...image.status, ticket: '1' } } })
    expect(walk.plan().start).toMatchObject({ ticket: '1', admissible: true })
  })

  it('does not release or judge anything while the success waits for its slot to be freed', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    const before = walk.log.length
    walk.report(CDI.succeeded)
    expect(walk.log.slice(before)).toEqual([])
    expect(walk.plan().start).toBeUndefined()
    expect(walk.plan().remove).toEqual([])
  })

  it('waits for the claim to be bound before it takes the snapshot', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.report({ ...CDI.succeeded, bound: { status: 'False', reason: 'Pending', message: '' } }).release()
    expect(walk.stand).toBe('Snapshotting/Snapshotting')
    expect(walk.world.snapshots).toEqual([])
    walk.report(CDI.succeeded)
    expect(walk.world.snapshots).toHaveLength(1)
  })

  it('tells people of the start and of the artifact', () => {
    const walk = new Walk()
    walk.settle().claim()
    expect(eventsOf(walk)).toEqual([])
    walk.admit()
    const told: string[] = []
    const fresh = new Walk()
    fresh.settle()
    fresh.claim()
    told.push(...eventsOf(fresh))
    fresh.set({ dataVolumes: walk.world.dataVolumes.map((one) => ({ ...one, ...CDI.running })) })
    told.push(...eventsOf(fresh))
    expect(told).toEqual(['Normal Syncing'])
  })
})

describe('a download that has begun', () => {
  it('is said to download until CDI has noticed its end', () => {
    const walk = new Walk()
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

describe('a failure', () => {
  it('is written down before anything is torn down, and the slot is held until the importer is gone', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    const before = walk.log.length
    walk.report(CDI.failing)
    expect(walk.log.slice(before)).toEqual(['status Syncing/Stopping', `delete DataVolume ${nameOf(walk)}`])
    expect(lastAttempt(walk)).toMatchObject({
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

  it('is retried with a new ticket when its time has come', () => {
    const walk = new Walk()
    walk.settle()
    const first = walk.status.ticket
    walk.fail()
    const wait = (fromTime(walk.status.nextRetryTime) ?? 0) - walk.now
    expect(walk.plan().wake?.afterMs).toBe(wait)
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

  it('counts the restarts that nobody saw', () => {
    const walk = new Walk()
    walk.settle().fail({ ...CDI.running, restartCount: 2 })
    expect(lastAttempt(walk)?.downloads).toBe(3)
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
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Failed', reason: 'DataVolumeDeleted', downloads: 1 })
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

describe('an act of a person', () => {
  const failed = () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    walk.settle().fail(CDI.notFound)
    return walk
  }

  it.each<[string, (walk: Walk) => Walk]>([
    ['the annotation that asks for a retry', (walk) => walk.annotate({ [RETRY]: '1' })],
    ['another secretRef', (walk) => walk.edit({ secretRef: 'other' })],
    ['another certConfigMap', (walk) => walk.edit({ certConfigMap: 'certs' })],
    ['another url', (walk) => walk.edit({ url: 'https://images.example/b.qcow2' })],
    ['the annotation that asks for a refresh', (walk) => walk.annotate({ [REFRESH]: '1' })],
  ])('grants a failed image a new budget: %s', (_name, act) => {
    const walk = failed()
    const ticket = walk.world.image.metadata.resourceVersion
    act(walk).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
    walk.fail(CDI.notFound)
    expect(walk.stand).toBe('Failed/NotFound')
  })

  it.each<[string, (walk: Walk) => Walk]>([
    ['suspend', (walk) => walk.edit({ name: 'other' })],
    ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
    ['another TTL', (walk) => walk.edit({ reclaimPolicy: 'Delete', unreferencedTTL: '1h' })],
  ])('does not, where it does not concern the download: %s', (_name, act) => {
    expect(act(failed()).settle().stand).toBe('Failed/NotFound')
  })

  it('asks for a retry during the wait: at once', () => {
    const walk = new Walk()
    walk.settle().fail()
    walk.annotate({ [RETRY]: 'now' }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.status.budget?.downloads).toBe(0)
  })

  it('asks for a retry of what is ready: nothing happens', () => {
    const walk = new Walk()
    walk.publish()
    walk
      .annotate({ [RETRY]: 'now' })
      .edit({ secretRef: 'other' })
      .settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.plan().start).toBeUndefined()
  })
})

describe('suspend', () => {
  it('takes a waiting image out of the queue; resuming queues it anew, at the end', () => {
    const walk = new Walk()
    walk.settle()
    const ticket = walk.status.ticket
    walk.edit({ suspend: true }).settle()
    expect(walk.stand).toBe('Queued/Suspended')
    expect(walk.status.ticket).toBeUndefined()
    expect(walk.plan().start).toBeUndefined()
    walk.edit({ suspend: undefined }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
  })

  it('stops a running download at once, which is no failure', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    const before = walk.log.length
    walk.edit({ suspend: true }).settle()
    expect(walk.log.slice(before)).toEqual(['status Syncing/Stopping', `delete DataVolume ${nameOf(walk)}`])
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Cancelled', reason: 'Suspended' })
    walk.importersGone().release()
    expect(walk.stand).toBe('Queued/Suspended')
    expect(walk.status.budget?.downloads).toBe(0)
    walk.edit({ suspend: false }).settle()
    expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
  })

  it('gives a resumed image all its downloads again', () => {
    const walk = new Walk({ policy: { retryLimit: 1 } })
    walk.settle().fail()
    walk.edit({ suspend: true }).settle().edit({ suspend: false }).settle()
    expect(walk.status.budget?.downloads).toBe(0)
    walk.fail().after(HOUR).fail()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
  })

  it('leaves a ready artifact as it is', () => {
    const walk = new Walk()
    walk.publish()
    walk.edit({ suspend: true }).settle()
    expect(walk.condition('Ready')).toBe('True')
    expect(walk.plan().remove).toEqual([])
  })

  it('starts nothing for a claim that it came too late for', () => {
    const walk = new Walk()
    walk.settle().claim().edit({ suspend: true })
    expect(walk.plan().start).toBeUndefined()
    expect(walk.release().stand).toBe('Queued/Suspended')
  })
})

describe('another revision', () => {
  const other = { url: 'https://images.example/b.qcow2' }

  it.each<[string, ConstructorParameters<typeof Walk>[0]]>([
    ['for a slot', {}],
    [
      'for something that is missing, which keeps no place for another download',
      { lookup: aLookup({ secrets: ['creds'] }) },
    ],
  ])('while it waits %s takes a new ticket', (_what, change) => {
    const walk = new Walk(change)
    walk.settle()
    const { ticket, revision } = walk.status
    walk.edit(other)
    const edited = walk.world.image.metadata.resourceVersion
    walk.settle()
    expect(walk.status.revision).not.toBe(revision)
    expect(ticket).toBe('100')
    expect(walk.status.ticket).toBe(edited)
    walk.set({ lookup: aLookup() }).settle()
    expect(walk.plan().start).toMatchObject({ ticket: edited, revision: walk.status.revision, admissible: true })
    // Back to the first one is another one once more.
    walk.edit({ url: SPEC['url'] })
    const editedBack = walk.world.image.metadata.resourceVersion
    walk.settle()
    expect(walk.plan().start).toMatchObject({ ticket: editedBack, revision, admissible: true })
  })

  it.each<[string, (walk: Walk) => Walk]>([
    ['another secretRef', (walk) => walk.edit({ secretRef: 'other' })],
    ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
    ['another name', (walk) => walk.edit({ name: 'other' })],
    ['the annotation that asks for a retry', (walk) => walk.annotate({ [RETRY]: '1' })],
    ['a label', (walk) => walk.annotate({ other: '1' })],
    ['a default of the policy', (walk) => walk.setPolicy({ defaultCertConfigMap: 'certs' })],
    ['the Secret that comes', (walk) => walk.set({ lookup: aLookup() })],
  ])('is none by %s: the ticket stays', (_name, change) => {
    const walk = new Walk({ lookup: aLookup({ secrets: ['creds'] }) })
    walk.settle()
    change(walk).settle()
    expect(walk.status.ticket).toBe('100')
    expect(walk.set({ lookup: aLookup() }).settle().plan().start).toMatchObject({ ticket: '100', admissible: true })
  })

  it('while Syncing cancels first and takes a new ticket', () => {
    const walk = new Walk()
    walk.settle()
    const { ticket } = walk.status
    walk.admit().report(CDI.running)
    const name = nameOf(walk)
    walk.edit(other).settle()
    expect(walk.log).toContain(`delete DataVolume ${name}`)
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
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
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.dropDataVolumes().edit(other).settle()
    walk.release()
    expect(walk.status.budget?.downloads).toBe(0)
    expect(walk.stand).toBe('Queued/Queued')
  })

  it('claimed in the last moment is not downloaded under the claim of the one before', () => {
    const walk = new Walk()
    walk.settle().claim().edit(other)
    expect(walk.plan().start).toBeUndefined()
    walk.release()
    expect(walk.plan().start?.revision).toBe(walk.status.revision)
  })

  it('after Succeeded takes a new ticket, and the old artifact serves until the alias flips', () => {
    const walk = new Walk()
    walk.publish()
    const old = walk.status.artifact
    const { ticket } = walk.status
    walk.edit(other).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    expect(walk.status.artifact).toEqual(old)
    expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'False'])
    walk.after(HOUR).admit().report(CDI.running).succeed()
    expect(walk.status.artifact).toEqual(old)
    walk.snapshotReady()
    expect(walk.status.artifact?.name).toBe(nameOf(walk))
    expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'True'])
    expect(walk.log.filter((line) => line === 'apply DataSource img')).toHaveLength(2)
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it('that fails leaves the old artifact in service', () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    walk.publish()
    const old = walk.status.artifact
    walk.edit(other).settle().fail()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.status.artifact).toEqual(old)
    expect(walk.condition('Ready')).toBe('True')
    walk.after(100 * HOUR)
    expect(walk.world.snapshots).toHaveLength(1)
  })
})

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
    expect(walk.log.at(-1)).toBe(`delete DataVolume ${nameOf(walk)}`)
    walk.importersGone()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.condition('Ready')).toBe('False')
  })

  it('of a deleted claim beside a snapshot stops the second import and leaves the artifact in service', () => {
    const walk = new Walk()
    walk.publish()
    const notBound = { status: 'False', reason: 'Pending', message: '' }
    walk.set({ claims: [] }).report({ phase: 'Succeeded', progress: 'N/A', bound: notBound })
    expect(walk.log.at(-1)).toBe(`delete DataVolume ${nameOf(walk)}`)
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
    expect(walk.log).toContain(`delete DataVolume ${nameOf(walk)}`)
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

  it('that had no slot leaves the retries as they were', () => {
    const walk = failedOnce()
    for (let turn = 0; turn < 4; turn += 1) {
      walk.admit().report(CDI.running).set({ slot: undefined }).settle().importersGone()
      expect(lastAttempt(walk)).toMatchObject({ number: 2, outcome: 'Cancelled', reason: 'NotAdmitted' })
      expect(walk.stand).toBe('Queued/Queued')
    }
    expect(walk.status.budget?.downloads).toBe(1)
    expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
  })

  it('of another revision that turns up while the image waits leaves retries and ticket as they were', () => {
    const walk = failedOnce()
    const { ticket } = walk.status
    for (let turn = 0; turn < 4; turn += 1) {
      const metadata = childMeta('img-01234567', '01234567', { uid: `stray-${turn}` })
      walk.set({ dataVolumes: [aDataVolume({ ...CDI.running, metadata })] }).settle()
      expect(walk.log.at(-1)).toBe('delete DataVolume img-01234567')
      walk.importersGone()
      expect(lastAttempt(walk)).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
      expect(walk.stand).toBe('Queued/Queued')
    }
    expect(walk.status).toMatchObject({ ticket, budget: { downloads: 1 } })
    expect(walk.plan().start).toMatchObject({ ticket, admissible: true })
  })

  it('does not hide a failure before it that no retry can mend', () => {
    const walk = new Walk()
    walk.settle().fail(CDI.notFound)
    expect(walk.stand).toBe('Failed/NotFound')
    const metadata = childMeta('img-01234567', '01234567', { uid: 'stray' })
    walk
      .set({ dataVolumes: [aDataVolume({ ...CDI.running, metadata })] })
      .settle()
      .importersGone()
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
    expect(walk.stand).toBe('Failed/NotFound')
    expect(walk.plan().start).toBeUndefined()
  })

  it('does not hide that the retries were used up before', () => {
    const walk = new Walk({ policy: { retryLimit: 1 } })
    walk.settle().fail().after(HOUR).fail().after(HOUR)
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    const metadata = childMeta('img-01234567', '01234567', { uid: 'stray' })
    walk
      .set({ dataVolumes: [aDataVolume({ ...CDI.running, metadata })] })
      .settle()
      .importersGone()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.plan().start).toBeUndefined()
  })
})

describe('a claim of ours whose DataVolume is gone', () => {
  it('is waited for without a slot, however long it is in use, and then the image goes on with its ticket', () => {
    const walk = new Walk({ lookup: aLookup({}, { leftoverClaim: () => 'going' }) })
    walk.settle()
    expect(walk.stand).toBe('Queued/Stopping')
    expect(walk.status.message).toContain(`PersistentVolumeClaim ${nameOf(walk)}`)
    expect(walk.condition('Stalled')).toBe('False')
    const before = walk.log.length
    walk.after(HOUR).after(HOUR)
    expect(walk.log).toHaveLength(before)
    expect(walk.plan().start).toBeUndefined()
    walk.set({ lookup: aLookup() }).settle()
    expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
  })
})

describe('an importer pod whose DataVolume is gone', () => {
  it('holds off the next download until it is gone, and costs the image neither its ticket nor a slot', () => {
    const walk = new Walk()
    walk.set({ lookup: aLookup({}, { leftoverImporter: () => 'left over' }) }).settle()
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
    walk.set({ lookup: aLookup({}, { leftoverImporter: () => 'left over' }) })
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
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Failed', reason: 'Evicted', downloads: 2 })
    expect(walk.status.budget?.downloads).toBe(2)
  })

  it('that never ran costs nothing, and each such attempt makes the next wait longer', () => {
    const walk = new Walk({ policy: { retryBackoffMs: MINUTE, retryBackoffMaxMs: HOUR } })
    walk.settle()
    const waits = [1, 2, 3, 4].map((unstarted) => {
      walk.admit().observe({ starts: 0, unchangedMs: 15 * MINUTE })
      expect(lastAttempt(walk)).toMatchObject({ number: 1, outcome: 'Cancelled', reason: 'ImporterNotStarted' })
      expect(lastAttempt(walk)).toMatchObject({ downloads: 0 })
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
    expect(walk.plan().wake?.afterMs).toBeLessThanOrEqual(2 * SECOND)
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
    expect(walk.plan().wake?.afterMs).toBeLessThanOrEqual(30 * SECOND)
    walk.set({ observation: { ...walk.world.observation, unchangedMs: 15 * MINUTE } }).after(15 * MINUTE)
    expect(lastAttempt(walk)).toMatchObject({ outcome: 'Failed', reason: 'Stalled' })
  })
})

describe('whatever is missing', () => {
  const walkTo = (change: ConstructorParameters<typeof Walk>[0]) => {
    const walk = new Walk(change)
    walk.settle()
    return walk
  }

  it('is said, takes no slot, and ends by itself with the ticket of the beginning', () => {
    const walk = walkTo({ lookup: aLookup({ secrets: ['creds'] }) })
    expect(walk.stand).toBe('Queued/SecretMissing')
    expect(walk.plan().start).toBeUndefined()
    expect(walk.status.ticket).toBe('100')
    expect(walk.status.queuePosition).toBeUndefined()
    walk.set({ lookup: aLookup() }).settle()
    expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
  })

  it('is a conflict of names that only people can end', () => {
    const walk = walkTo({ lookup: aLookup({}, { foreignVolume: (name) => `PersistentVolumeClaim ${name}` }) })
    expect(walk.stand).toBe('Queued/NameConflict')
    expect(walk.condition('Stalled')).toBe('True')
  })

  it('does not hurt a good artifact', () => {
    const walk = new Walk()
    walk.publish()
    const before = walk.log.length
    walk.set({
      lookup: aLookup({ secrets: ['creds'], storageClasses: ['fast'], snapshotClasses: ['snap'] }),
      surroundings: { hasDataVolumes: false, hasSnapshots: true, hasDataSources: true },
    })
    walk.settle()
    expect(walk.log.slice(before)).toEqual([])
  })

  it('after the claim withdraws the wish for the download', () => {
    const walk = new Walk()
    walk
      .settle()
      .claim()
      .set({ lookup: aLookup({ secrets: ['creds'] }) })
    expect(walk.plan().start).toBeUndefined()
    expect(walk.release().stand).toBe('Queued/SecretMissing')
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
    expect(late.plan().wake?.afterMs).toBe(MINUTE)
    late.after(MINUTE)
    expect(late.plan().start?.admissible).toBe(true)
  })

  it('that nobody answers for is told of while it is asked for', () => {
    const walk = new Walk()
    walk.settle().claim().set({ isAskedInVain: true }).settle()
    expect(walk.stand).toBe('Queued/CreateFailed')
    expect(walk.status.message).toContain('cdi-apiserver')
    expect(walk.status.ticket).toBeDefined()
    expect(walk.plan().start?.admissible).toBe(true)
    walk.set({ isAskedInVain: false }).release().settle()
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

describe('paused', () => {
  it('says so instead of a place in the queue, and stays in the queue', () => {
    const walk = new Walk({ limit: 0 })
    walk.settle()
    expect(walk.stand).toBe('Queued/Paused')
    expect(walk.plan().start?.admissible).toBe(true)
  })
})

describe('the policy’s defaults', () => {
  const short = { sourceType: undefined, diskSize: undefined, storageClass: undefined, secretRef: undefined }
  const policy = {
    defaultSourceType: 'http',
    defaultDiskSize: '5Gi',
    defaultStorageClass: 'slow',
    defaultSecretRef: 'shared',
  } as const

  it('are frozen when the revision is first queued', () => {
    const walk = new Walk({ spec: short, policy })
    walk.settle().setPolicy({ defaultDiskSize: '50Gi', defaultStorageClass: undefined, defaultSecretRef: 'new' })
    walk.settle()
    expect(walk.plan().start?.target).toMatchObject({
      sourceType: 'http',
      diskSize: '5Gi',
      storageClass: 'slow',
      secretRef: 'shared',
    })
    expect(walk.status.defaults).toEqual({
      sourceType: 'http',
      diskSize: '5Gi',
      storageClass: 'slow',
      secretRef: 'shared',
    })
  })

  it('of today count for a new revision', () => {
    const walk = new Walk({ spec: short, policy })
    walk.settle().setPolicy({ defaultDiskSize: '50Gi' })
    walk.edit({ url: 'https://images.example/b.qcow2' }).settle()
    expect(walk.plan().start?.target.diskSize).toBe('50Gi')
  })

  it('end the wait of one that lacked them', () => {
    const walk = new Walk({ spec: short })
    walk.settle()
    expect(walk.stand).toBe('Queued/SourceTypeMissing')
    walk.setPolicy({ defaultSourceType: 'http' }).settle()
    expect(walk.stand).toBe('Queued/DiskSizeMissing')
    walk.setPolicy(policy).settle()
    expect(walk.plan().start?.admissible).toBe(true)
  })
})

describe('references', () => {
  it('are shown, with the moment the last one went', () => {
    const walk = new Walk({ references: ONE_USER })
    walk.publish()
    expect(walk.status.references).toEqual({ count: 1, names: ONE_USER.names })
    expect(walk.status.unreferencedSince).toBeUndefined()
    expect(walk.condition('Unreferenced')).toBe('False')
    walk.set({ references: NO_REFERENCES }).after(HOUR)
    expect(fromTime(walk.status.unreferencedSince)).toBe(walk.now)
    expect(fromTime(walk.status.lastReferencedTime)).toBe(walk.now)
    walk.after(HOUR)
    expect(fromTime(walk.status.unreferencedSince)).toBe(walk.now - HOUR)
  })
})

it('names children after the image and the revision', () => {
  const walk = new Walk()
  walk.settle()
  expect(walk.plan().start?.target.volumeName).toBe(`img-${walk.status.revision}`)
  expect(walk.status.budget?.key).toBe(shortHash([walk.status.revision, 'creds', undefined, undefined]))
})
