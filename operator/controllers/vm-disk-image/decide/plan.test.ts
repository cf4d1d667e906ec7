import { shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { fromTime } from '../../../base/time.ts'
import { HOUR } from '../../../runtime/times.fixtures.ts'
import { aPod, CDI } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup, NO_REFERENCES, ONE_USER } from '../image-world.fixtures.ts'

const eventsOf = (walk: Walk) => walk.plan().events.map(({ type, reason }) => `${type} ${reason}`)

describe('the happy path', () => {
  it('writes what the picture says, in its order, and no more', () => {
    const walk = new Walk()
    walk.publish()
    const name = walk.childName
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
      name: walk.childName,
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

describe('whatever is missing', () => {
  const walkTo = (change: ConstructorParameters<typeof Walk>[0]) => {
    const walk = new Walk(change)
    walk.settle()
    return walk
  }

  it('is said, takes no slot, and ends by itself with the ticket of the beginning', () => {
    const walk = walkTo({ lookup: aLookup({ secret: 'missing' }) })
    expect(walk.stand).toBe('Queued/SecretMissing')
    expect(walk.plan().start).toBeUndefined()
    expect(walk.status.ticket).toBe('100')
    expect(walk.status.queuePosition).toBeUndefined()
    walk.set({ lookup: aLookup() }).settle()
    expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
  })

  it('is a conflict of names that only people can end', () => {
    const walk = walkTo({ lookup: aLookup({ foreignVolume: 'PersistentVolumeClaim x' }) })
    expect(walk.stand).toBe('Queued/NameConflict')
    expect(walk.condition('Stalled')).toBe('True')
  })

  it('does not hurt a good artifact', () => {
    const walk = new Walk()
    walk.publish()
    const before = walk.log.length
    walk.set({
      lookup: aLookup({ secret: 'missing', hasStorageClass: false, hasSnapshotClass: false }),
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
      .set({ lookup: aLookup({ secret: 'missing' }) })
    expect(walk.plan().start).toBeUndefined()
    expect(walk.release().stand).toBe('Queued/SecretMissing')
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
    expect(walk.status.references).toEqual({ count: 1, machines: 1, names: ONE_USER.names })
    expect(walk.status.unreferencedSince).toBeUndefined()
    expect(walk.condition('Unreferenced')).toBe('False')
    walk.set({ references: NO_REFERENCES }).after(HOUR)
    expect(fromTime(walk.status.unreferencedSince)).toBe(walk.now)
    expect(fromTime(walk.status.lastReferencedTime)).toBe(walk.now)
    walk.after(HOUR)
    expect(fromTime(walk.status.unreferencedSince)).toBe(walk.now - HOUR)
  })

  it('tell machines, which can break, from what only keeps the image', () => {
    const names = [
      'DataSync/n/a',
      'VirtualMachine/n/a',
      'VirtualMachine/n/b',
      'Workspace/a',
      'DataVolume/n/VirtualMachine',
    ]
    const { status } = new Walk({ references: { count: names.length, names, users: [] } }).publish()
    expect(status.references).toMatchObject({ count: 5, machines: 2 })
  })

  it('are shown by the names of the first ten', () => {
    const names = Array.from({ length: 12 }, (_none, at) => `VirtualMachine/n/${at}`)
    const { status } = new Walk({ references: { count: 12, names, users: [] } }).publish()
    expect(status.references).toEqual({ count: 12, machines: 12, names: names.slice(0, 10) })
    expect(status.conditions?.find(({ type }) => type === 'Unreferenced')?.message).toBe(
      `referenced by ${names.slice(0, 10).join(', ')}`,
    )
  })
})

it('names children after the image and the revision', () => {
  const walk = new Walk()
  walk.settle()
  expect(walk.plan().start?.target.volumeName).toBe(`img-${walk.status.revision}`)
  expect(walk.status.budget?.key).toBe(shortHash([walk.status.revision, 'creds', undefined, undefined]))
})
