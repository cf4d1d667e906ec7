import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { REASON_HELP, REASONS, type Reason } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import {
  ADOPTED_NAME,
  adopting,
  anAdoptable,
  anAdoptedObject,
  someFacts,
} from '../../../../test/prepared/vm-disk-image/adoption.ts'
import { aDataVolume, CDI, childMeta, REFRESH, RETRY } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import {
  aLookup,
  type ImageWorldOverrides,
  NO_REFERENCES,
  ONE_USER,
} from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { NOTHING_SEEN } from '../../../cluster/import-facts.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { AdoptionFacts } from '../adoption-facts.ts'
import type { AdoptableView } from '../world.ts'

/** One way to reach a reason, and the remedies that its help names. */
interface Story {
  readonly reach: () => ImageWalk
  readonly remedies: Readonly<Record<string, (walk: ImageWalk) => unknown>>
}

/** For a reason that no plan sets: names the test of controller.test.ts that covers it. */
interface Elsewhere {
  readonly elsewhere: string
}

const queued = (overrides: ImageWorldOverrides = {}) => new ImageWalk(overrides).settle()
const downloading = (overrides: ImageWorldOverrides = {}) => queued(overrides).admit().report(CDI.running)
const published = (overrides: ImageWorldOverrides = {}) => new ImageWalk(overrides).publish()
const failed = (how: Partial<DataVolumeView>, overrides: ImageWorldOverrides = {}) => downloading(overrides).report(how)
const stopped = (reason: string, message = '') => ({ running: { status: 'False', reason, message } })

const annotated = { 'asked for a retry': (walk: ImageWalk) => tornDown(walk).annotate({ [RETRY]: 'now' }) }
const waited = { waits: (walk: ImageWalk) => tornDown(walk).after(2 * HOUR) }
const edited = (name: string, spec: object) => ({ [name]: (walk: ImageWalk) => tornDown(walk).edit({ ...spec }) })
/** Names another object, which is there. */
const renamed = (name: string, spec: object) => ({
  [name]: (walk: ImageWalk) =>
    tornDown(walk)
      .edit({ ...spec })
      .set({ lookup: aLookup() }),
})
const there = { 'it appears': (walk: ImageWalk) => walk.set({ lookup: aLookup() }) }
/** CDI has shown the same for this long. */
const unchangedFor = (unchangedMs: number, walk: ImageWalk) => {
  const dataVolumeUid = walk.world.dataVolumes[0]?.metadata.uid
  return walk.set({ observation: { ...NOTHING_SEEN, dataVolumeUid, unchangedMs } }).settle()
}
/** Removes whatever still runs, and what was observed of it. */
const tornDown = (walk: ImageWalk) => {
  return walk.importersGone().release().set({ observation: NOTHING_SEEN })
}
const elsewhereCreated = {
  'created in another namespace or under another name': (walk: ImageWalk) => walk.set(new ImageWalk().world),
}

const FILLED_ELSEWHERE = { sourceType: 'http', url: 'https://images.example/b.qcow2', checksum: undefined } as const
/** It is to adopt a DataVolume of which this was found. */
const adopts = (facts: Partial<AdoptionFacts> = {}, more: Partial<AdoptableView> = {}) =>
  queued({
    metadata: { annotations: adopting('DataVolume') },
    adoptable: anAdoptable('DataVolume', {
      sighted: { facts: someFacts('DataVolume', facts), isFresh: true },
      ...more,
    }),
  })
const adoptable = (walk: ImageWalk) => walk.set({ adoptable: anAdoptable('DataVolume') })
const unadopted = (walk: ImageWalk) =>
  walk.change({ metadata: { ...walk.subject.metadata, annotations: {} } }).set({ adoptable: undefined })

const STORIES: Readonly<Record<Reason, Story | readonly Story[] | Elsewhere>> = {
  Queued: { reach: queued, remedies: { 'its turn comes': (walk) => walk.admit().report(CDI.running) } },
  Syncing: { reach: downloading, remedies: { 'the download ends': (walk) => walk.succeed() } },
  Snapshotting: {
    reach: () => downloading().succeed(),
    remedies: { 'the snapshot is ready': (walk) => walk.snapshotReady() },
  },
  Refreshing: {
    reach: () =>
      published()
        .annotate({ [REFRESH]: 'now' })
        .settle(),
    remedies: { 'the new one is ready': (walk) => walk.admit().report(CDI.running).succeed().snapshotReady() },
  },
  Adopting: {
    reach: () => adopts({}, { sighted: undefined }),
    remedies: { 'it was looked at': adoptable },
  },
  AdoptionInvalid: {
    reach: () => queued({ metadata: { annotations: { [ANNOTATIONS.adopt]: 'disk/a' } } }),
    remedies: {
      corrected: (walk) => adoptable(walk).annotate(adopting('DataVolume')),
      removed: (walk) => unadopted(walk),
    },
  },
  AdoptionUnchecked: {
    reach: () => adopts({ fault: { why: 'it is not there' } }),
    remedies: {
      'the rule is installed, and it is set again': (walk) =>
        adoptable(walk).annotate({ [ANNOTATIONS.adopt]: `dv/${ADOPTED_NAME}` }),
      removed: unadopted,
    },
  },
  AdoptionMissing: {
    reach: () => adopts({ object: undefined }),
    remedies: { 'it names another': adoptable, removed: unadopted },
  },
  AdoptionUnfinished: {
    reach: () => adopts({ object: anAdoptedObject('DataVolume', { phase: 'ImportInProgress' }) }),
    remedies: { 'it is finished': adoptable, removed: unadopted },
  },
  AdoptionMismatch: {
    reach: () => adopts({ object: anAdoptedObject('DataVolume', { size: '12Gi' }) }),
    remedies: { ...edited('a larger disk', { diskSize: '12Gi' }), removed: unadopted },
  },
  AdoptionInUse: {
    reach: () => adopts({ usedBy: 'VirtualMachine desk' }),
    remedies: { 'the machine is gone': adoptable },
  },
  AdoptionOwned: {
    reach: () =>
      adopts({
        object: anAdoptedObject('DataVolume', {
          owners: [{ uid: 'other', title: 'VMDiskImage a of crd.pelotech.ot' }],
        }),
      }),
    remedies: { 'it is released': adoptable },
  },
  SourceDiffers: {
    reach: () => adopts({ object: anAdoptedObject('DataVolume', { filledFrom: FILLED_ELSEWHERE }) }),
    remedies: {
      ...edited('the spec is corrected', { url: FILLED_ELSEWHERE.url }),
      'people accept it': (walk) => walk.annotate({ [ANNOTATIONS.adoptSource]: 'any' }),
    },
  },
  SourceMatches: { reach: () => adopts(), remedies: {} },
  SourceUnknown: {
    reach: () =>
      adopts({
        object: anAdoptedObject('DataVolume', { filledFrom: { ...FILLED_ELSEWHERE, sourceType: undefined } }),
      }),
    remedies: {
      'refreshed without it': (walk) => unadopted(walk).annotate({ [REFRESH]: 'now' }),
    },
  },
  SourceAccepted: {
    reach: () =>
      adopts({ object: anAdoptedObject('DataVolume', { filledFrom: FILLED_ELSEWHERE }) })
        .annotate({ [ANNOTATIONS.adoptSource]: 'any' })
        .settle(),
    remedies: {},
  },
  RetryBackoff: { reach: () => queued().fail(), remedies: { ...waited, ...annotated } },
  Stopping: { reach: () => failed(CDI.failing), remedies: waited },
  Suspended: {
    reach: () => queued({ spec: { suspend: true } }),
    remedies: edited('not suspended', { suspend: false }),
  },
  InvalidSpec: {
    reach: () => queued({ spec: { diskSize: 'a lot' } }),
    remedies: edited('the field is corrected', { diskSize: '10Gi' }),
  },
  TooLarge: {
    reach: () => queued().resize(true).settle(),
    remedies: { 'it is made smaller': (walk) => walk.resize(false) },
  },
  SecretMissing: {
    reach: () => queued({ lookup: aLookup({ secret: 'missing' }) }),
    remedies: { ...there, ...renamed('another Secret', { secretRef: 'others' }) },
  },
  CertConfigMapMissing: {
    reach: () => queued({ spec: { certConfigMap: 'certs' }, lookup: aLookup({ certificates: 'missing' }) }),
    remedies: { ...there, ...renamed('another ConfigMap', { certConfigMap: 'others' }) },
  },
  SecretInvalid: {
    reach: () => queued({ lookup: aLookup({ secret: { isPullSecret: true, keys: {} } }) }),
    remedies: { 'the key is added': there['it appears'], ...renamed('another Secret', { secretRef: 'others' }) },
  },
  CertConfigMapInvalid: {
    reach: () =>
      queued({
        spec: { certConfigMap: 'certs' },
        lookup: aLookup({ certificates: 'none' }),
      }),
    remedies: { 'one is added': there['it appears'], ...renamed('another ConfigMap', { certConfigMap: 'others' }) },
  },
  StorageClassMissing: [
    {
      reach: () => queued({ lookup: aLookup({ hasStorageClass: false }) }),
      remedies: { ...there, ...renamed('another class', { storageClass: 'slow' }) },
    },
    {
      reach: () => queued({ spec: { storageClass: undefined }, lookup: aLookup({ hasStorageClass: false }) }),
      remedies: {
        ...there,
        ...renamed('a class', { storageClass: 'fast' }),
        'a default of the policy': (walk) => walk.setPolicy({ defaultStorageClass: 'fast' }).set({ lookup: aLookup() }),
      },
    },
  ],
  SnapshotClassMissing: [
    {
      reach: () => queued({ lookup: aLookup({ hasSnapshotClass: false }) }),
      remedies: { ...there, ...renamed('another class', { snapshotClass: 'other' }) },
    },
    {
      reach: () =>
        queued({
          spec: { snapshotClass: undefined },
          policy: { defaultSnapshotClass: 'snap' },
          lookup: aLookup({ hasSnapshotClass: false }),
        }),
      remedies: {
        'another default of the policy': (walk) =>
          walk.setPolicy({ defaultSnapshotClass: 'other' }).set({ lookup: aLookup() }),
      },
    },
  ],
  SnapshotClassMismatch: {
    reach: () =>
      queued({
        lookup: aLookup({ driversApart: { ofVolumes: 'a', ofSnapshots: 'b' } }),
      }),
    remedies: { ...there, ...renamed('a class of the driver', { snapshotClass: 'other' }) },
  },
  NamespaceTerminating: { reach: () => queued({ namespaceTerminating: true }), remedies: elsewhereCreated },
  UrlNotAllowed: [
    {
      reach: () => queued({ policy: { allowedSourceUrls: ['https://allowed.example/'] } }),
      remedies: {
        ...edited('an allowed source', { url: 'https://allowed.example/a' }),
        'the list is extended': (walk) => walk.setPolicy({ allowedSourceUrls: ['https://images.example/'] }),
      },
    },
    {
      reach: () => queued({ spec: { sourceType: undefined }, policy: { defaultSourceType: 'registry' } }),
      remedies: edited('a sourceType that fits', { sourceType: 'http' }),
    },
  ],
  ChecksumMissing: {
    reach: () => queued({ spec: { sourceType: 'http' }, policy: { requireChecksum: true } }),
    remedies: {
      ...edited('a checksum', { checksum: `md5:${'0'.repeat(32)}` }),
      'the policy asks for none': (walk) => walk.setPolicy({ requireChecksum: false }),
    },
  },
  SourceTypeMissing: {
    reach: () => queued({ spec: { sourceType: undefined } }),
    remedies: {
      ...edited('a sourceType', { sourceType: 'http' }),
      'a default of the policy': (walk) => walk.setPolicy({ defaultSourceType: 'http' }),
    },
  },
  DiskSizeMissing: {
    reach: () => queued({ spec: { diskSize: undefined } }),
    remedies: {
      ...edited('a size', { diskSize: '10Gi' }),
      'a default of the policy': (walk) => walk.setPolicy({ defaultDiskSize: '10Gi' }),
    },
  },
  CDIMissing: {
    reach: () => queued({ surroundings: { hasDataVolumes: false, hasSnapshots: true, hasDataSources: false } }),
    remedies: { 'CDI is installed': (walk) => walk.set({ surroundings: new ImageWalk().world.surroundings }) },
  },
  CDITooOld: {
    reach: () =>
      queued({
        spec: { sourceType: 'http', checksum: `md5:${'0'.repeat(32)}` },
        lookup: aLookup({ droppedFields: new Set(['spec.source.http.checksum']) }),
      }),
    remedies: { 'CDI is upgraded': there['it appears'], ...edited('no checksum', { checksum: undefined }) },
  },
  SnapshotterMissing: {
    reach: () => queued({ surroundings: { hasDataVolumes: true, hasSnapshots: false, hasDataSources: true } }),
    remedies: {
      'the snapshot controller is installed': (walk) => walk.set({ surroundings: new ImageWalk().world.surroundings }),
      ...edited('no snapshot class', { snapshotClass: undefined }),
    },
  },
  NameConflict: {
    reach: () => queued({ lookup: aLookup({ foreignVolume: 'DataVolume x' }) }),
    remedies: { 'that object is deleted': there['it appears'], ...elsewhereCreated },
  },
  LeftoverClaim: {
    reach: () => queued({ lookup: aLookup({ leftoverClaim: 'orphaned' }) }),
    remedies: { 'the claim is deleted': there['it appears'] },
  },
  Paused: {
    reach: () => queued({ limit: 0 }),
    remedies: { 'concurrency is raised': (walk) => walk.set({ limit: 1 }).admit().report(CDI.running) },
  },
  CreateFailed: {
    reach: () => refused('CreateFailed', (walk) => walk.now + MINUTE),
    remedies: { waits: (walk) => walk.after(2 * MINUTE) },
  },
  RejectedByCDI: {
    reach: () => refused('RejectedByCDI', () => undefined),
    remedies: {
      ...edited('the field', { diskSize: '11Gi' }),
      'asked for a retry': (walk) => walk.annotate({ [RETRY]: 'now' }),
    },
  },
  NotFound: {
    reach: () => failed(CDI.notFound),
    remedies: { ...edited('another url', { url: 'https://images.example/b.qcow2' }), ...annotated },
  },
  AccessDenied: {
    reach: () => failed(stopped('Error', '"b/k": AccessDenied: Access Denied'), { spec: { sourceType: 's3' } }),
    remedies: { ...annotated, ...edited('sourceType http', { sourceType: 'http' }) },
  },
  WrongRegion: {
    reach: () => failed(stopped('Error', '"b/k": BucketRegionError: incorrect'), { spec: { sourceType: 's3' } }),
    remedies: edited('the URL of the region', { url: 'https://s3.us-east-1.amazonaws.com/b/k' }),
  },
  SourceInvalid: {
    reach: () => failed(stopped('Error', 'Image a is invalid because it has invalid backing file b')),
    remedies: { ...edited('another url', { url: 'https://images.example/b.qcow2' }), ...annotated },
  },
  DiskTooSmall: {
    reach: () => failed(stopped('Error', 'DataVolume too small to contain image')),
    remedies: edited('a larger disk', { diskSize: '20Gi' }),
  },
  ChecksumMismatch: {
    reach: () => failed(stopped('ChecksumError', 'checksum mismatch'), { spec: { checksum: `md5:${'0'.repeat(32)}` } }),
    remedies: { ...edited('another checksum', { checksum: `md5:${'1'.repeat(32)}` }), ...annotated },
  },
  ImporterFailed: { reach: () => failed(CDI.failing), remedies: waited },
  OutOfMemory: { reach: () => failed(stopped('OOMKilled')), remedies: waited },
  Evicted: { reach: () => seen({ starts: 1, isImporterLost: true }), remedies: waited },
  Starting: {
    reach: () => queued().admit().observe({ seenMs: HOUR }),
    remedies: { 'its importer runs': (walk) => walk.report(CDI.running) },
  },
  CDINotResponding: {
    reach: () => queued().admit().set({ isCdiAway: true }).observe({ seenMs: HOUR }),
    remedies: { 'CDI is back': (walk) => walk.set({ isCdiAway: false }).report(CDI.running) },
  },
  ImporterNotStarted: {
    reach: () => queued().admit().observe({ starts: 0, unchangedMs: HOUR }),
    remedies: waited,
  },
  Stalled: { reach: () => seen({ unchangedMs: HOUR }), remedies: waited },
  NotAdmitted: {
    reach: () => downloading().set({ slot: undefined }).settle(),
    remedies: { 'it is stopped': tornDown },
  },
  ClaimDeleted: {
    reach: () => importingAgain(published()),
    remedies: { 'the download is stopped': (walk) => walk.settle().importersGone() },
  },
  AttemptTimeout: { reach: () => downloading().after(7 * HOUR), remedies: waited },
  ClaimLost: {
    reach: () => failed({ phase: 'Failed', bound: { status: 'False', reason: 'ClaimLost', message: '' } }),
    remedies: waited,
  },
  QuotaExceeded: { reach: () => failed(stopped('ErrExceededQuota')), remedies: waited },
  ImportRefused: {
    reach: () =>
      unchangedFor(
        MINUTE,
        queued()
          .admit()
          .report({ phase: 'ImportScheduled', ...stopped('ErrStartingPod') }),
      ),
    remedies: waited,
  },
  ClaimInvalid: {
    reach: () => {
      const bound = { status: 'Unknown', reason: 'ErrClaimNotValid', message: 'no accessMode' }
      return queued().admit().report({ phase: 'Pending', bound }).after(MINUTE)
    },
    remedies: waited,
  },
  RetryLimitExceeded: {
    reach: () => queued({ policy: { retryLimit: 0 } }).fail(),
    remedies: { ...annotated, 'retryLimit is raised': (walk) => walk.setPolicy({ retryLimit: 1 }).after(HOUR) },
  },
  SnapshotFailed: {
    reach: () => {
      const walk = downloading().succeed()
      walk.now += 2 * HOUR
      return walk
    },
    remedies: { 'it is taken again': (walk) => walk.settle().snapshotReady() },
  },
  ArtifactLost: {
    reach: () => published().dropDataVolumes().set({ snapshots: [] }),
    remedies: { 'goes on by itself': (walk) => walk },
  },
  SourceVolumeLost: {
    reach: () => published().dropDataVolumes().edit({ snapshotClass: 'other' }).settle(),
    remedies: {
      'asked for a refresh': (walk) => walk.annotate({ [REFRESH]: 'now' }),
      'the change is taken back': (walk) => walk.edit({ snapshotClass: 'snap' }),
    },
  },
  SpecChanged: {
    reach: () => downloading().edit({ url: 'https://images.example/b.qcow2' }).settle(),
    remedies: { 'goes on by itself': tornDown },
  },
  SyncCancelled: {
    reach: () => downloading().edit({ suspend: true }),
    remedies: { 'goes on by itself': (walk) => tornDown(walk.settle()).edit({ suspend: false }) },
  },
  RetryNotCounted: {
    reach: () => published().annotate({ [ANNOTATIONS.retryRequestedAt]: 'now' }),
    remedies: { 'no action is needed': (walk) => walk.settle() },
  },
  DataVolumeDeleted: { reach: () => downloading().dropDataVolumes().settle(), remedies: waited },
  Unreferenced: {
    reach: published,
    remedies: { 'something refers to it': (walk) => walk.set({ references: ONE_USER }) },
  },
  InUse: {
    reach: () => published({ references: ONE_USER }).markDeleted().settle(),
    remedies: { 'its users are deleted': (walk) => walk.set({ references: NO_REFERENCES }).settle().importersGone() },
  },
  PackedSource: {
    reach: () => queued().edit({ url: 'https://images.example/a.zip' }).settle(),
    remedies: { 'another URL': (walk) => walk.edit({ url: 'https://images.example/a.qcow2' }) },
  },
  Deleting: {
    reach: () => published().markDeleted().settle(),
    remedies: { 'goes on by itself': (walk) => walk.importersGone() },
  },
  // No remedy is needed: the image is as it should be.
  Synced: { reach: published, remedies: {} },
  Referenced: { reach: () => published({ references: ONE_USER }), remedies: {} },
  Refused: { elsewhere: 'is told of a refusal by an Event, and goes on by itself when nothing refuses any more' },
  InternalError: { elsewhere: 'is told to people and to the log, and holds up nobody' },
}

function refused(reason: 'CreateFailed' | 'RejectedByCDI', until: (walk: ImageWalk) => number | undefined): ImageWalk {
  const walk = queued()
  const { revision = '', target } = walk.plan().start ?? {}
  const refusal = { revision, budgetKey: target?.budgetKey ?? '', reason, message: 'no', until: until(walk) }
  walk.set({ refusal }).settle()
  return walk
}

function seen(change: Partial<ImageWalk['world']['observation']>): ImageWalk {
  return downloading().observe(change)
}

/** Somebody deleted the claim of a finished download. */
function importingAgain(walk: ImageWalk): ImageWalk {
  const [before] = walk.world.dataVolumes
  const bound = { status: 'False', reason: 'Pending', message: '' }
  const metadata = before?.metadata ?? childMeta('img-0', '0')
  return walk.set({ dataVolumes: [aDataVolume({ ...CDI.succeeded, bound, progress: 'N/A', metadata })] })
}

/** Returns the reasons that people read now: of conditions, of attempts, and of Events that are about to be recorded. */
function told(walk: ImageWalk): { conditions: Set<string>; all: Set<string> } {
  const conditions = (walk.status.conditions ?? []).map(({ reason }) => reason)
  const attempts = (walk.status.attempts ?? []).map(({ reason }) => reason)
  const events = walk.plan().events.map(({ reason }) => reason)
  return { conditions: new Set(conditions), all: new Set([...conditions, ...attempts, ...events]) }
}

/** Reports whether it can be cloned, is on its way there, or is gone as requested. */
function isWell(walk: ImageWalk): boolean {
  const { status, isGone } = walk
  if (isGone || status.reason === 'Syncing' || status.reason === 'Snapshotting') return true
  return walk.plan().start?.admissible === true || (status.phase === 'Succeeded' && walk.condition('Ready') === 'True')
}

describe('the help of a reason', () => {
  it('has a story for each reason that there is', () => {
    expect(Object.keys(STORIES).toSorted()).toEqual(Object.keys(REASON_HELP).toSorted())
  })

  it('is tried elsewhere only by tests that there are', async () => {
    const others = await readFile(join(import.meta.dirname, '../controller.test.ts'), 'utf8')
    for (const entry of Object.values(STORIES))
      if ('elsewhere' in entry) expect(others).toContain(`it('${entry.elsewhere}'`)
  })

  const cases = Object.values(REASONS).flatMap((reason) => {
    const entry = STORIES[reason]
    if ('elsewhere' in entry) return []
    const stories = 'reach' in entry ? [entry] : entry
    return stories.flatMap(({ reach, remedies }) => {
      const ways = Object.entries(remedies)
      return (ways.length === 0 ? [['nothing is to be done', () => undefined] as const] : ways).map(
        ([way, remedy]) => [reason, way, reach, remedy] as const,
      )
    })
  })

  it.each(cases)('is true for %s: %s', (reason, _way, reach, remedy) => {
    const walk = reach()
    expect(told(walk).all).toContain(reason)
    const hadCondition = told(walk).conditions.has(reason)
    remedy(walk)
    walk.settle()
    expect(isWell(walk), walk.stand).toBe(true)
    if (walk.isGone || ['Synced', 'Referenced', 'SourceMatches', 'SourceAccepted'].includes(reason)) return
    if (hadCondition) expect(told(walk).conditions).not.toContain(reason)
    else expect(walk.plan().events).not.toContainEqual(expect.objectContaining({ reason }))
  })
})
