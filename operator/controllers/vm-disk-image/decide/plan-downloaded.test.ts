import { LABELS } from '@open-terrain/constructs'
import { childName, shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aSnapshot, CDI, childMeta, REFRESH, RETRY } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import {
  aLookup,
  aPolicy,
  type ImageWorldOverrides,
  NO_REFERENCES,
  ONE_USER,
} from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { deletions, published } from '../../../../test/prepared/vm-disk-image/published-walk.ts'
import type { ObjectMeta } from '../../../kube/kube-object.ts'

/** A second revision, published after the first one. */
const refreshed = (overrides: ImageWorldOverrides = {}) => {
  const walk = published(overrides)
  const before = walk.childName
  walk.annotate({ [REFRESH]: '1' }).after(MINUTE)
  walk.publish()
  expect(walk.childName).not.toBe(before)
  return { walk, before }
}

const changeClaim = (walk: ImageWalk, more: Partial<ObjectMeta>) => {
  const claims = walk.world.claims.map((one) => ({ ...one, metadata: { ...one.metadata, ...more } }))
  return walk.set({ claims })
}

const atSnapshot = (overrides: ImageWorldOverrides = {}) => {
  const walk = new ImageWalk(overrides)
  walk.settle().admit().succeed()
  return walk
}

const reclassed = () => {
  const walk = published()
  const first = walk.status.artifact?.name
  walk.edit({ snapshotClass: 'other' }).after(MINUTE)
  return { walk, first }
}

describe('binding', () => {
  it('of a download that was done before it could be stopped for a failure: it has succeeded, and nothing of the failure is left', () => {
    const walk = new ImageWalk()
    walk.settle().admit().report(CDI.running)
    const { dataVolumes } = walk.world
    walk.report(CDI.failing)
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Failed' })
    // The deletion was refused: CDI had changed the DataVolume, because the kubelet had started the importer again.
    walk
      .set({ dataVolumes })
      .report({ ...CDI.succeeded, restartCount: 1 })
      .release()
      .snapshotReady()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.status.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded', downloads: 2 }])
    expect([walk.status.budget?.downloads, walk.status.nextRetryTime]).toEqual([0, undefined])
  })

  describe('the happy path', () => {
    it('waits for the claim to be bound before it takes the snapshot', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.report({ ...CDI.succeeded, bound: { status: 'False', reason: 'Pending', message: '' } }).release()
      expect(walk.stand).toBe('Snapshotting/Snapshotting')
      expect(walk.world.snapshots).toEqual([])
      walk.report(CDI.succeeded)
      expect(walk.world.snapshots).toHaveLength(1)
    })
  })

  describe('a claim that is the artifact', () => {
    const aGolden = () => published({ spec: { snapshotClass: undefined } })

    it('and is being deleted, though still bound and in use, serves nobody: said once, and nothing is published', () => {
      const walk = changeClaim(aGolden(), { deletionTimestamp: '2026-01-01T01:00:00Z' })
      const before = walk.log.length
      walk.settle()
      expect(walk.log.slice(before)).toEqual(['status Snapshotting/Snapshotting'])
      expect([walk.condition('Ready'), walk.status.artifact]).toEqual(['False', undefined])
      for (let turn = 0; turn < 5; turn += 1) walk.after(HOUR)
      expect(walk.log).toHaveLength(before + 1)
      expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
      expect(walk.plan().start).toBeUndefined()
    })

    it('and is not known for a while is said once, and serves again when it is back', () => {
      const walk = aGolden()
      const { claims } = walk.world
      const before = walk.log.length
      walk.set({ claims: [] }).settle().after(HOUR)
      expect(walk.log.slice(before)).toEqual(['status Snapshotting/Snapshotting'])
      expect(walk.condition('Ready')).toBe('False')
      walk.set({ claims }).settle()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.condition('Ready')).toBe('True')
    })

    it('and is being deleted before it was published is not published', () => {
      const walk = new ImageWalk({ spec: { snapshotClass: undefined } })
      walk.settle().admit().succeed()
      const going = new ImageWalk({ spec: { snapshotClass: undefined } })
      going.settle().admit()
      const claims = walk.world.claims.map((one) => ({
        ...one,
        metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T01:00:00Z' },
      }))
      going.set({ claims }).report(CDI.succeeded).release()
      expect(going.stand).toBe('Snapshotting/Snapshotting')
      expect(going.world.dataSource).toBeUndefined()
    })
  })
})

describe('volumeLost', () => {
  describe('a claim that is the artifact', () => {
    const aGolden = () => published({ spec: { snapshotClass: undefined } })

    it('and has lost its volume serves nobody, says what to do, and serves again if the volume comes back', () => {
      const walk = aGolden()
      const { claims } = walk.world
      walk.set({ claims: claims.map((one) => ({ ...one, phase: 'Lost' })) }).settle()
      expect([walk.stand, walk.condition('Ready'), walk.condition('Stalled')]).toEqual([
        'Snapshotting/Snapshotting',
        'False',
        'True',
      ])
      expect(walk.status.message).toBe(
        `PersistentVolumeClaim ${walk.childName} has lost its volume (it is Lost): bring the PersistentVolume back, or delete the claim, and the image is downloaded again`,
      )
      expect(walk.status.conditions?.find(({ type }) => type === 'ArtifactLost')?.message).toBe(
        `PersistentVolumeClaim ${walk.childName}, from which disks were cloned, has lost its volume: nothing can be cloned from it`,
      )
      expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
      walk.set({ claims }).settle()
      expect([walk.stand, walk.condition('Ready')]).toEqual(['Succeeded/Synced', 'True'])
    })
  })
})

describe('snapshotBlocked', () => {
  describe('a snapshot', () => {
    it.each<[string, Partial<ImageWalk['world']>]>([
      ['SnapshotClassMissing', { lookup: aLookup({ hasSnapshotClass: false }) }],
      ['SnapshotterMissing', { surroundings: { hasDataVolumes: true, hasSnapshots: false, hasDataSources: true } }],
      ['NameConflict', { lookup: aLookup({ hasForeignSnapshot: true }) }],
      ['NamespaceTerminating', { namespaceTerminating: true }],
    ])('waits, and says for what: %s', (reason, change) => {
      const walk = new ImageWalk()
      walk.settle().admit()
      walk.set(change).succeed()
      expect(walk.stand).toBe(`Snapshotting/${reason}`)
      expect(walk.world.snapshots).toEqual([])
      walk.set({
        lookup: aLookup(),
        namespaceTerminating: false,
        surroundings: { hasDataVolumes: true, hasSnapshots: true, hasDataSources: true },
      })
      expect(walk.settle().snapshotReady().stand).toBe('Succeeded/Synced')
    })

    it('whose volume disappears before it was taken goes through the queue again', () => {
      const walk = new ImageWalk()
      walk
        .settle()
        .admit()
        .set({ lookup: aLookup({ hasSnapshotClass: false }) })
      walk.succeed()
      walk.dropDataVolumes().set({ lookup: aLookup() }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
    })
  })
})

describe('snapshotting', () => {
  describe('drift', () => {
    it('of a deleted snapshot is mended without the queue', () => {
      const walk = new ImageWalk()
      walk.publish()
      walk.set({ snapshots: [] }).settle()
      expect(walk.condition('Ready')).toBe('False')
      expect(walk.stand).toBe('Snapshotting/Snapshotting')
      walk.snapshotReady()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.log.filter((line) => line === 'claim')).toHaveLength(1)
    })
  })

  describe('a snapshot', () => {
    it('shows the trouble of its controller', () => {
      const walk = atSnapshot()
      const snapshots = walk.world.snapshots.map((one) => ({ ...one, error: 'driver is down' }))
      walk.set({ snapshots }).settle()
      expect(walk.status.message).toContain('driver is down')
      expect(deletions(walk)).toEqual([])
    })

    it('that the API server refuses is told in its words, and tried again', () => {
      const walk = new ImageWalk()
      walk.settle().admit()
      walk.set({ writeRefusal: 'volumesnapshots.snapshot.storage.k8s.io is forbidden' })
      walk.succeed()
      const told = walk.log.find((line) => line.startsWith('status Snapshotting/Refused'))
      expect([told, walk.log.filter((line) => line.startsWith('apply VolumeSnapshot'))]).toEqual([
        'status Snapshotting/Refused',
        [`apply VolumeSnapshot ${walk.childName}`],
      ])
      walk.set({ writeRefusal: undefined })
      expect(walk.settle().snapshotReady().stand).toBe('Succeeded/Synced')
    })
  })

  describe('another snapshotClass', () => {
    it('takes a new snapshot without a download, and the old one serves meanwhile', () => {
      const { walk, first } = reclassed()
      expect(walk.stand).toBe('Snapshotting/Snapshotting')
      expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'False'])
      expect(walk.status.artifact?.name).toBe(first)
      walk.snapshotReady()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.status.artifact).toMatchObject({
        name: childName('img', shortHash([walk.status.revision, 'other'])),
        snapshotClass: 'other',
      })
      expect(walk.log.filter((line) => line === 'claim')).toHaveLength(1)
    })
  })
})

describe('retaking', () => {
  describe('a snapshot', () => {
    it('that does not get ready is taken again after snapshotTimeout, without another download', () => {
      const walk = atSnapshot()
      expect(walk.plan().requeue?.afterMs).toBe(HOUR)
      walk.after(HOUR - 1)
      expect(deletions(walk)).toEqual([])
      walk.now += 1
      expect(walk.plan().events.map(({ reason }) => reason)).toEqual(['SnapshotFailed'])
      walk.settle()
      expect(deletions(walk)).toEqual([`delete VolumeSnapshot ${walk.childName}`])
      expect(walk.log.at(-1)).toBe(`apply VolumeSnapshot ${walk.childName}`)
      expect(walk.plan().requeue?.afterMs).toBe(HOUR)
      expect(walk.snapshotReady().stand).toBe('Succeeded/Synced')
      expect(walk.log.filter((line) => line === 'claim')).toHaveLength(1)
    })
  })

  it('never counts a snapshot of the wanted name and another class as the artifact', () => {
    const walk = new ImageWalk()
    walk.settle().admit()
    const name = walk.childName
    const snapshot = aSnapshot(childMeta(name, walk.status.revision ?? ''), { snapshotClass: 'old', readyToUse: true })
    walk.set({ snapshots: [snapshot] }).succeed()
    expect(deletions(walk)).toEqual([`delete VolumeSnapshot ${name}`])
    walk.after(SECOND).snapshotReady()
    expect(walk.status.artifact?.snapshotClass).toBe('snap')
  })
})

describe('publishing', () => {
  describe('another revision', () => {
    const other = { url: 'https://images.example/b.qcow2' }

    it('after Succeeded takes a new ticket, and the old artifact serves until the alias flips', () => {
      const walk = new ImageWalk()
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
      expect(walk.status.artifact?.name).toBe(walk.childName)
      expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'True'])
      expect(walk.log.filter((line) => line === 'apply DataSource img')).toHaveLength(2)
      expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
    })
  })

  it('publishes without an alias where the cluster has no DataSources', () => {
    const walk = new ImageWalk({ surroundings: { hasDataVolumes: true, hasSnapshots: true, hasDataSources: false } })
    walk.publish()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.log).not.toContain('apply DataSource img')
  })
})

describe('steady', () => {
  describe('whatever is missing', () => {
    it('does not hurt a good artifact', () => {
      const walk = new ImageWalk()
      walk.publish()
      const before = walk.log.length
      walk.set({
        lookup: aLookup({ secret: 'missing', hasStorageClass: false, hasSnapshotClass: false }),
        surroundings: { hasDataVolumes: false, hasSnapshots: true, hasDataSources: true },
      })
      walk.settle()
      expect(walk.log.slice(before)).toEqual([])
    })
  })

  describe('the policy for images that people made', () => {
    it.each([
      [{}, undefined],
      [{ userReclaimPolicy: 'Delete' as const }, 72 * HOUR],
      [{ userReclaimPolicy: 'Delete' as const, userUnreferencedTtlMs: HOUR }, HOUR],
      [{ reclaimPolicy: 'Delete' as const, unreferencedTtlMs: 0 }, undefined],
    ])('%j', (policy, afterMs) => {
      const walk = new ImageWalk({ references: ONE_USER, policy })
      walk.publish().set({ references: NO_REFERENCES }).settle()
      expect(walk.plan().requeue?.afterMs).toBe(afterMs)
      expect(walk.isReclaimed).toBe(false)
    })

    it('does not concern one whose spec says Retain', () => {
      const walk = new ImageWalk({
        references: ONE_USER,
        spec: { reclaimPolicy: 'Retain' },
        policy: { userReclaimPolicy: 'Delete' },
      })
      walk
        .publish()
        .set({ references: NO_REFERENCES })
        .after(1_000 * HOUR)
      expect(walk.isReclaimed).toBe(false)
    })

    it('counts as it is now, also for images that are there', () => {
      const walk = new ImageWalk({ references: ONE_USER })
      walk
        .publish()
        .set({ references: NO_REFERENCES })
        .settle()
        .after(100 * HOUR)
      expect(walk.isReclaimed).toBe(false)
      expect(walk.set({ policy: aPolicy({ userReclaimPolicy: 'Delete' }) }).isReclaimed).toBe(true)
    })
  })

  describe('an act of a person', () => {
    it('asks for a retry of what is ready: nothing happens, which is told once', () => {
      const walk = new ImageWalk()
      walk.publish()
      const told = () => walk.plan().events.filter(({ reason }) => reason === 'RetryNotCounted')
      expect(told()).toEqual([])
      walk.annotate({ [RETRY]: 'before' })
      expect(told()).toHaveLength(1)
      walk.settle()
      expect(told()).toEqual([])
      walk
        .annotate({ [RETRY]: 'now' })
        .edit({ secretRef: 'other' })
        .settle()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.plan().start).toBeUndefined()
    })
  })

  describe('suspend', () => {
    it('leaves a ready artifact as it is', () => {
      const walk = new ImageWalk()
      walk.publish()
      walk.edit({ suspend: true }).settle()
      expect(walk.condition('Ready')).toBe('True')
      expect(walk.plan().remove).toEqual([])
    })
  })

  describe('drift', () => {
    it('of a deleted alias is mended', () => {
      const walk = new ImageWalk()
      walk.publish()
      walk.set({ dataSource: undefined }).settle()
      expect(walk.log.at(-1)).toBe('apply DataSource img')
      expect(walk.stand).toBe('Succeeded/Synced')
    })

    it('of an edited alias is mended', () => {
      const walk = new ImageWalk()
      walk.publish()
      const { dataSource } = walk.world
      if (dataSource === undefined) throw new Error('no alias')
      walk.set({ dataSource: { ...dataSource, spec: { source: { pvc: { namespace: 'team', name: 'x' } } } } })
      expect(walk.plan().apply).toMatchObject([{ kind: 'DataSource', metadata: { name: 'img' } }])
    })

    it('of a deleted golden volume is none, with a ready snapshot', () => {
      const walk = new ImageWalk()
      walk.publish()
      const before = walk.log.length
      walk.dropDataVolumes().settle()
      expect(walk.log.slice(before)).toEqual([])
      expect(walk.stand).toBe('Succeeded/Synced')
    })
  })

  describe('a claim that is the artifact', () => {
    const aGolden = () => published({ spec: { snapshotClass: undefined } })

    it('serves on when somebody took our labels off it', () => {
      const walk = changeClaim(aGolden(), { labels: {} })
      const before = walk.log.length
      walk.settle().after(HOUR)
      expect(walk.log).toHaveLength(before)
      expect(walk.condition('Ready')).toBe('True')
    })
  })

  describe('another snapshotClass', () => {
    it('retires the snapshot by the earlier class ten minutes after the new one was published, and the volume never', () => {
      const { walk, first } = reclassed()
      walk.snapshotReady().after(10 * MINUTE - 1)
      expect(deletions(walk)).toEqual([])
      walk.after(1)
      expect(deletions(walk)).toEqual([`delete VolumeSnapshot ${first}`])
    })

    it('waits for the next download where the source volume was not kept', () => {
      const walk = published({ policy: { keepSourceVolume: false } })
      walk.after(MINUTE).importersGone().edit({ snapshotClass: 'other' }).settle()
      expect(walk.stand).toBe('Succeeded/SourceVolumeLost')
      expect(walk.condition('Ready')).toBe('True')
      expect(walk.plan().start).toBeUndefined()
    })
  })

  describe('an alias of somebody else', () => {
    const foreign = () => {
      const walk = published()
      const { dataSource } = walk.world
      if (dataSource === undefined) throw new Error('no alias')
      const metadata = { ...dataSource.metadata, ownerReferences: [], uid: 'foreign' }
      return walk.set({ dataSource: { ...dataSource, metadata, spec: {} } }).settle()
    }

    it('is left alone and told; the artifact is ready all the same', () => {
      const walk = foreign()
      expect(walk.stand).toBe('Succeeded/NameConflict')
      expect(walk.condition('Stalled')).toBe('True')
      expect(walk.condition('Ready')).toBe('True')
      expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
    })

    it('is taken over by nobody when it goes: ours is made', () => {
      const walk = foreign()
      walk.set({ dataSource: undefined }).settle()
      expect(walk.stand).toBe('Succeeded/Synced')
      expect(walk.world.dataSource?.metadata.uid).not.toBe('foreign')
    })
  })

  describe('spec.name', () => {
    const label = ({ metadata }: { metadata: { labels?: Readonly<Record<string, string>> } }) =>
      metadata.labels?.[LABELS.specName]

    it('is a label of snapshot and DataSource, follows the spec on the DataSource, and downloads nothing', () => {
      const walk = published({ spec: { name: 'demo vm' } })
      expect(walk.world.snapshots.map(label)).toEqual([expect.stringMatching(/^demo-vm-[0-9a-f]{8}$/)])
      expect(walk.world.dataSource && label(walk.world.dataSource)).toMatch(/^demo-vm-/)
      walk.edit({ name: 'other' }).settle()
      expect(walk.world.dataSource && label(walk.world.dataSource)).toBe('other')
      walk.edit({ name: undefined })
      expect(walk.plan().apply.map(label)).toEqual([undefined])
      expect(walk.plan().start).toBeUndefined()
    })
  })

  describe('keepSourceVolume', () => {
    it('false deletes the DataVolume once the alias points to the snapshot, unless it is being cloned', () => {
      const walk = new ImageWalk({ policy: { keepSourceVolume: false } })
      walk.settle().admit().succeed()
      expect(deletions(walk)).toEqual([])
      walk.snapshotReady().after(MINUTE)
      expect(deletions(walk)).toEqual([`delete DataVolume ${walk.childName}`])
      expect(walk.log.indexOf('apply DataSource img')).toBeLessThan(walk.log.indexOf(deletions(walk)[0] ?? ''))
      walk.importersGone()
      expect(walk.stand).toBe('Succeeded/Synced')
    })

    it('false keeps the name taken as long as a create that nobody answered may still be carried out', () => {
      const walk = new ImageWalk({ policy: { keepSourceVolume: false } })
      walk.settle().admit().succeed().snapshotReady()
      expect(deletions(walk)).toEqual([])
      expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(20_000)
    })

    it('false says that clones hold it off, and looks again', () => {
      const walk = published().after(MINUTE)
      walk.setPolicy({ keepSourceVolume: false })
      expect(walk.plan().remove).toMatchObject([{ kind: 'DataVolume', onlyIf: [{ read: 'cached' }] }])
      expect(walk.plan().requeue?.afterMs).toBe(MINUTE)
    })

    it('false spares the volume that is the artifact', () => {
      const walk = published({ policy: { keepSourceVolume: false }, spec: { snapshotClass: undefined } })
      expect(deletions(walk)).toEqual([])
    })

    it('true keeps it', () => {
      expect(deletions(published().after(100 * HOUR))).toEqual([])
    })
  })

  describe('the artifact before', () => {
    it('goes ten minutes after the flip, with its volume, and only when nothing clones from it', () => {
      const { walk, before } = refreshed()
      walk.after(10 * MINUTE - 1)
      expect(deletions(walk)).toEqual([])
      walk.now += 1
      expect(walk.plan().remove).toMatchObject([{ onlyIf: [{ read: 'live' }] }, { onlyIf: [{ read: 'live' }] }])
      walk.settle()
      expect(deletions(walk).toSorted()).toEqual([`delete DataVolume ${before}`, `delete VolumeSnapshot ${before}`])
      expect(walk.status.artifact?.name).toBe(walk.childName)
    })

    it('wakes the controller for that', () => {
      const { walk } = refreshed()
      expect(walk.plan().requeue?.afterMs).toBe(10 * MINUTE)
    })

    it('wakes the controller for that also while a TTL runs', () => {
      const { walk } = refreshed({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '72h' } })
      expect(walk.plan().requeue?.afterMs).toBe(10 * MINUTE)
    })

    it('goes also where it is a volume', () => {
      const { walk, before } = refreshed({ spec: { snapshotClass: undefined } })
      walk.after(10 * MINUTE)
      expect(deletions(walk)).toEqual([`delete DataVolume ${before}`])
    })

    it('stays while the new revision is not published, however long that takes', () => {
      const walk = published()
      walk.annotate({ [REFRESH]: '1' }).after(100 * HOUR)
      expect(deletions(walk)).toEqual([])
    })
  })

  describe('reclaiming', () => {
    const createdBy = { labels: { [LABELS.createdBy]: 'VirtualMachine' } }

    const unreferenced = (overrides: ImageWorldOverrides) => {
      const walk = published({ references: ONE_USER, ...overrides })
      walk.set({ references: NO_REFERENCES }).settle()
      return walk
    }

    it.each<[string, ImageWorldOverrides]>([
      ['Retain is the default for images that people made', {}],
      ['Retain is said', { spec: { reclaimPolicy: 'Retain', unreferencedTTL: '1s' } }],
      ['Retain is the policy, for one of ours', { metadata: createdBy, policy: { reclaimPolicy: 'Retain' } }],
      ['Retain is said, for one of ours', { metadata: createdBy, spec: { reclaimPolicy: 'Retain' } }],
    ])('never happens where %s', (_name, overrides) => {
      const walk = unreferenced(overrides)
      walk.after(10_000 * HOUR)
      expect(walk.isReclaimed).toBe(false)
    })

    it.each<[string, ImageWorldOverrides, number]>([
      ['its own TTL', { spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2h' } }, 2 * HOUR],
      ['the TTL of the policy', { spec: { reclaimPolicy: 'Delete' } }, 72 * HOUR],
      ['the policy, for one of ours', { metadata: createdBy }, 72 * HOUR],
      [
        'its own TTL, for one of ours',
        { metadata: createdBy, spec: { reclaimPolicy: 'Delete', unreferencedTTL: '1h' } },
        HOUR,
      ],
    ])('happens by %s after the last reference went', (_name, overrides, ttl) => {
      const walk = unreferenced(overrides)
      expect(walk.isReclaimed).toBe(false)
      expect(walk.plan().requeue?.afterMs).toBe(ttl)
      walk.after(ttl - 1)
      expect(walk.isReclaimed).toBe(false)
      walk.after(1)
      expect(walk.isReclaimed).toBe(true)
    })

    it('with 0s happens at the moment when the last reference goes', () => {
      const overrides = { spec: { reclaimPolicy: 'Delete', unreferencedTTL: '0s' } }
      const walk = published({ references: ONE_USER, ...overrides })
      expect(walk.isReclaimed).toBe(false)
      walk.set({ references: NO_REFERENCES }).settle()
      expect(walk.isReclaimed).toBe(true)
    })

    it('with 0s never happens to one that was not referenced yet', () => {
      const walk = published({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '0s' } })
      walk.after(10_000 * HOUR)
      expect(walk.isReclaimed).toBe(false)
    })

    it('of one that was never referenced counts from its sync', () => {
      const walk = new ImageWalk({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2h' } })
      walk.settle().after(10 * HOUR)
      walk.publish()
      expect(walk.plan().requeue?.afterMs).toBe(2 * HOUR)
      walk.after(2 * HOUR)
      expect(walk.isReclaimed).toBe(true)
    })

    it('is off as soon as there is a reference again', () => {
      const walk = unreferenced({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2h' } })
      walk.after(HOUR).set({ references: ONE_USER }).after(HOUR)
      expect(walk.isReclaimed).toBe(false)
      walk.set({ references: NO_REFERENCES }).settle()
      expect(walk.plan().requeue?.afterMs).toBe(2 * HOUR)
    })
  })
})
