import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../runtime/times.fixtures.ts'
import { REFRESH } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { NO_REFERENCES, ONE_USER, type WorldOverrides } from '../image-world.fixtures.ts'
import { deletions, published } from '../published-walk.fixtures.ts'

/** A second revision, published after the first one. */
const refreshed = (overrides: WorldOverrides = {}) => {
  const walk = published(overrides)
  const before = walk.childName
  walk.annotate({ [REFRESH]: '1' }).after(MINUTE)
  walk.publish()
  expect(walk.childName).not.toBe(before)
  return { walk, before }
}

describe('keepSourceVolume', () => {
  it('false deletes the DataVolume once the alias points to the snapshot, unless it is being cloned', () => {
    const walk = new Walk({ policy: { keepSourceVolume: false } })
    walk.settle().admit().succeed()
    expect(deletions(walk)).toEqual([])
    walk.snapshotReady().after(MINUTE)
    expect(deletions(walk)).toEqual([`delete DataVolume ${walk.childName}`])
    expect(walk.log.indexOf('apply DataSource img')).toBeLessThan(walk.log.indexOf(deletions(walk)[0] ?? ''))
    walk.importersGone()
    expect(walk.stand).toBe('Succeeded/Synced')
  })

  it('false keeps the name taken as long as a create that nobody answered may still be carried out', () => {
    const walk = new Walk({ policy: { keepSourceVolume: false } })
    walk.settle().admit().succeed().snapshotReady()
    expect(deletions(walk)).toEqual([])
    expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(20_000)
  })

  it('false says that clones hold it off, and looks again', () => {
    const walk = published().after(MINUTE)
    walk.setPolicy({ keepSourceVolume: false })
    expect(walk.plan().remove).toMatchObject([{ kind: 'DataVolume', onlyIf: [{ look: 'cached' }] }])
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
    expect(walk.plan().remove).toMatchObject([{ onlyIf: [{ look: 'live' }] }, { onlyIf: [{ look: 'live' }] }])
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
  const unreferenced = (overrides: WorldOverrides) => {
    const walk = published({ references: ONE_USER, ...overrides })
    walk.set({ references: NO_REFERENCES }).settle()
    return walk
  }

  it.each<[string, WorldOverrides]>([
    ['Retain is the default for images that people made', {}],
    ['Retain is said', { spec: { reclaimPolicy: 'Retain', unreferencedTTL: '1s' } }],
    ['Retain is the policy, for one of ours', { metadata: createdBy, policy: { reclaimPolicy: 'Retain' } }],
    ['Retain is said, for one of ours', { metadata: createdBy, spec: { reclaimPolicy: 'Retain' } }],
  ])('never happens where %s', (_name, overrides) => {
    const walk = unreferenced(overrides)
    walk.after(10_000 * HOUR)
    expect(walk.isReclaimed).toBe(false)
  })

  it.each<[string, WorldOverrides, number]>([
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
    const walk = new Walk({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2h' } })
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
