import { LABELS } from '@open-terrain/constructs'
import { childName, shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { ObjectMeta } from '../../../kube/kube-object.ts'
import { HOUR, MINUTE, SECOND } from '../../../runtime/times.fixtures.ts'
import { aSnapshot, CDI, childMeta } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup, type WorldOverrides } from '../image-world.fixtures.ts'
import { deletions, published } from '../published-walk.fixtures.ts'

describe('a snapshot', () => {
  const atSnapshot = (overrides: WorldOverrides = {}) => {
    const walk = new Walk(overrides)
    walk.settle().admit().succeed()
    return walk
  }

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

  it('shows the trouble of its controller', () => {
    const walk = atSnapshot()
    const snapshots = walk.world.snapshots.map((one) => ({ ...one, error: 'driver is down' }))
    walk.set({ snapshots }).settle()
    expect(walk.status.message).toContain('driver is down')
    expect(deletions(walk)).toEqual([])
  })

  it('that the API server refuses is told in its words, and tried again', () => {
    const walk = new Walk()
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

  it.each<[string, Partial<Walk['world']>]>([
    ['SnapshotClassMissing', { lookup: aLookup({ hasSnapshotClass: false }) }],
    ['SnapshotterMissing', { surroundings: { hasDataVolumes: true, hasSnapshots: false, hasDataSources: true } }],
    ['NameConflict', { lookup: aLookup({ hasForeignSnapshot: true }) }],
    ['NamespaceTerminating', { namespaceTerminating: true }],
  ])('waits, and says for what: %s', (reason, change) => {
    const walk = new Walk()
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
    const walk = new Walk()
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

describe('a claim that is the artifact', () => {
  const aGolden = () => published({ spec: { snapshotClass: undefined } })
  const changeClaim = (walk: Walk, more: Partial<ObjectMeta>) => {
    const claims = walk.world.claims.map((one) => ({ ...one, metadata: { ...one.metadata, ...more } }))
    return walk.set({ claims })
  }

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

  it('serves on when somebody took our labels off it', () => {
    const walk = changeClaim(aGolden(), { labels: {} })
    const before = walk.log.length
    walk.settle().after(HOUR)
    expect(walk.log).toHaveLength(before)
    expect(walk.condition('Ready')).toBe('True')
  })

  it('and is being deleted before it was published is not published', () => {
    const walk = new Walk({ spec: { snapshotClass: undefined } })
    walk.settle().admit().succeed()
    const going = new Walk({ spec: { snapshotClass: undefined } })
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

describe('another snapshotClass', () => {
  const reclassed = () => {
    const walk = published()
    const first = walk.status.artifact?.name
    walk.edit({ snapshotClass: 'other' }).after(MINUTE)
    return { walk, first }
  }

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

it('publishes without an alias where the cluster has no DataSources', () => {
  const walk = new Walk({ surroundings: { hasDataVolumes: true, hasSnapshots: true, hasDataSources: false } })
  walk.publish()
  expect(walk.stand).toBe('Succeeded/Synced')
  expect(walk.log).not.toContain('apply DataSource img')
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

it('never counts a snapshot of the wanted name and another class as the artifact', () => {
  const walk = new Walk()
  walk.settle().admit()
  const name = walk.childName
  const snapshot = aSnapshot(childMeta(name, walk.status.revision ?? ''), { snapshotClass: 'old', readyToUse: true })
  walk.set({ snapshots: [snapshot] }).succeed()
  expect(deletions(walk)).toEqual([`delete VolumeSnapshot ${name}`])
  walk.after(SECOND).snapshotReady()
  expect(walk.status.artifact?.snapshotClass).toBe('snap')
})
