import { shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { NO_REFERENCES, ONE_USER } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { fromTime } from '../../../base/time.ts'

const eventsOf = (walk: ImageWalk) => walk.plan().events.map(({ type, reason }) => `${type} ${reason}`)

describe('the happy path', () => {
  it('writes what the picture says, in its order, and no more', () => {
    const walk = new ImageWalk()
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
    const walk = new ImageWalk({ spec: { snapshotClass: undefined } })
    walk.publish()
    expect(walk.log.slice(-3)).toEqual(['release slot', 'apply DataSource img', 'status Succeeded/Synced'])
    expect(walk.status.artifact).toMatchObject({
      kind: 'PersistentVolumeClaim',
      name: walk.childName,
      restoreSize: '11Gi',
      volumeMode: 'Filesystem',
    })
  })

  it('tells people of the start and of the artifact', () => {
    const walk = new ImageWalk()
    walk.settle().claim()
    expect(eventsOf(walk)).toEqual([])
    walk.admit()
    const told: string[] = []
    const fresh = new ImageWalk()
    fresh.settle()
    fresh.claim()
    told.push(...eventsOf(fresh))
    fresh.set({ dataVolumes: walk.world.dataVolumes.map((one) => ({ ...one, ...CDI.running })) })
    told.push(...eventsOf(fresh))
    expect(told).toEqual(['Normal Syncing'])
  })
})

describe('references', () => {
  it('are shown, with the moment the last one went', () => {
    const walk = new ImageWalk({ references: ONE_USER })
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
    const { status } = new ImageWalk({ references: { count: names.length, names, users: [] } }).publish()
    expect(status.references).toMatchObject({ count: 5, machines: 2 })
  })

  it('are shown by the names of the first ten', () => {
    const names = Array.from({ length: 12 }, (_none, at) => `VirtualMachine/n/${at}`)
    const { status } = new ImageWalk({ references: { count: 12, names, users: [] } }).publish()
    expect(status.references).toEqual({ count: 12, machines: 12, names: names.slice(0, 10) })
    expect(status.conditions?.find(({ type }) => type === 'Unreferenced')?.message).toBe(
      `referenced by ${names.slice(0, 10).join(', ')}`,
    )
  })
})

it('names children after the image and the revision', () => {
  const walk = new ImageWalk()
  walk.settle()
  expect(walk.plan().start?.target.volumeName).toBe(`img-${walk.status.revision}`)
  expect(walk.status.budget?.key).toBe(shortHash([walk.status.revision, 'creds', undefined, undefined]))
})
