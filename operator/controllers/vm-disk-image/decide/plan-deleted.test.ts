import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aPod, CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { aLookup, NO_REFERENCES, ONE_USER } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { deletions, published } from '../../../../test/prepared/vm-disk-image/published-walk.ts'

describe('inUse', () => {
  describe('deleting an image', () => {
    it.each([
      [['VirtualMachine/a/vm'], 'delete these objects'],
      [['DataSync/a/lab'], 'remove the vm from these DataSyncs'],
      [['DataSync/a/lab', 'VirtualMachine/a/vm'], 'remove the vm from these DataSyncs, and delete the other objects'],
    ])('that is used by %s names what to do about these alone', (users, remedy) => {
      const walk = published()
      walk
        .set({ references: { ...NO_REFERENCES, users } })
        .markDeleted()
        .settle()
      expect(walk.status.message?.endsWith(`; to complete the deletion, ${remedy}`)).toBe(true)
    })
  })

  describe('deleting an image that is in use', () => {
    const used = () => {
      const walk = published()
      return walk.set({ references: ONE_USER }).settle().markDeleted().settle()
    }

    it('removes nothing and names who uses it', () => {
      const walk = used()
      expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
      expect(walk.condition('DeletionBlocked')).toBe('True')
      expect(walk.condition('Ready')).toBe('True')
      expect(walk.status.message).toContain('VirtualMachine/a/vm')
      expect(walk.isGone).toBe(false)
      expect(walk.plan().events).toEqual([])
    })

    it('is one Warning, with those who use it', () => {
      const walk = published().set({ references: ONE_USER }).settle().markDeleted()
      const message = expect.stringContaining('deletion is blocked: the image is used by VirtualMachine/a/vm')
      expect(walk.plan().events).toEqual([{ type: 'Warning', reason: 'InUse', message }])
    })

    it('counts them as they come and go', () => {
      const both = ['VirtualMachine/a/vm', 'VirtualMachine/b/vm']
      const walk = used()
        .set({ references: { count: 2, names: both, users: both } })
        .settle()
      expect(walk.status.references).toEqual({ count: 2, machines: 2, names: both })
    })

    it('goes on when the last user is gone', () => {
      const walk = used().set({ references: NO_REFERENCES }).settle()
      expect(walk.condition('DeletionBlocked')).toBeUndefined()
      expect(walk.importersGone().isGone).toBe(true)
    })

    it('is not held up by references that do not use it', () => {
      const walk = published()
      walk.set({ references: { ...ONE_USER, users: [] } }).markDeleted()
      expect(walk.settle().importersGone().isGone).toBe(true)
    })

    it('is not held up in a namespace that is being deleted', () => {
      const walk = used().set({ namespaceTerminating: true })
      expect(walk.settle().importersGone().isGone).toBe(true)
    })

    it('stops a download that runs, and says so no longer than it holds a slot', () => {
      const walk = published()
      walk.edit({ url: 'https://images.example/b.qcow2' }).settle().admit().report(CDI.running)
      walk.set({ references: ONE_USER }).markDeleted().settle()
      expect(walk.log.at(-1)).toBe(`delete DataVolume ${walk.childName}`)
      expect(walk.plan().start).toBeUndefined()
      walk.importersGone().release()
      expect(walk.isGone).toBe(false)
      expect(walk.status.phase).not.toBe('Syncing')
    })

    it('that thousands use names the first of them', () => {
      const users = Array.from({ length: 5_000 }, (_, at) => `VirtualMachine/team/vm-${at}`)
      const walk = published()
      walk
        .set({ references: { count: users.length, names: users.slice(0, 10), users } })
        .settle()
        .markDeleted()
        .settle()
      expect(walk.status.message).toContain('VirtualMachine/team/vm-9 and 4990 more')
      expect(walk.status.message?.length).toBeLessThan(4_096)
    })
  })
})

describe('leaving', () => {
  it('has an importer that nobody needs removed before its DataVolume, without which nothing shows whose it is', () => {
    const walk = published()
    const [dataVolume] = walk.world.dataVolumes
    walk.set({ needless: new Map([[dataVolume?.metadata.uid ?? '', [aPod('needless')]]]) }).markDeleted()
    const kinds = walk.plan().remove.map(({ kind }) => kind)
    expect(kinds.indexOf('Pod')).toBe(kinds.indexOf('DataVolume') - 1)
  })

  describe('deleting an image', () => {
    it('that nobody uses removes its children, and lets it go when they are gone', () => {
      const walk = published()
      const before = walk.log.length
      walk.markDeleted().settle()
      const name = walk.childName
      expect(walk.log.slice(before)).toContain('delete DataSource img')
      expect(walk.log.slice(before)).toContain(`delete VolumeSnapshot ${name}`)
      expect(walk.log.slice(before)).toContain(`delete DataVolume ${name}`)
      expect(walk.isGone).toBe(false)
      walk.importersGone()
      expect(walk.isGone).toBe(true)
    })

    it('that downloads keeps the finalizer until the DataVolume is gone and the slot is free', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.markDeleted().settle()
      expect(walk.log).toContain(`delete DataVolume ${walk.childName}`)
      expect(walk.stand).toBe('Syncing/Deleting')
      expect(walk.plan().start).toBeUndefined()
      walk.importersGone()
      expect(walk.isGone).toBe(false)
      expect(walk.plan().finalizer).toBe('keep')
      walk.release()
      expect(walk.isGone).toBe(true)
    })

    it('that was just claimed wants no download any more, and waits for its slot', () => {
      const walk = new ImageWalk()
      walk.settle().claim().markDeleted().settle()
      expect(walk.plan().start).toBeUndefined()
      expect(walk.isGone).toBe(false)
      expect(walk.release().isGone).toBe(true)
    })

    it('says when it hangs', () => {
      const walk = published()
      walk.markDeleted().settle()
      expect(walk.status.message).not.toContain('webhook')
      walk.after(MINUTE)
      expect(walk.status.message).toContain('cdi-apiserver')
    })

    it('never touches an alias of somebody else, and does not wait for it', () => {
      const walk = published()
      const { dataSource } = walk.world
      if (dataSource === undefined) throw new Error('no alias')
      walk.set({ dataSource: { ...dataSource, metadata: { ...dataSource.metadata, ownerReferences: [] } } })
      walk.markDeleted().settle().importersGone()
      expect(walk.log).not.toContain('delete DataSource img')
      expect(walk.isGone).toBe(true)
    })
  })

  describe('deleting an image with --cascade=orphan', () => {
    /** The garbage collector has not begun yet. */
    const orphaning = (walk: ImageWalk) => {
      const { image } = walk.world
      const finalizers = [...(image.metadata.finalizers ?? []), 'orphan']
      return walk
        .set({ image: { ...image, metadata: { ...image.metadata, finalizers } } })
        .markDeleted()
        .settle()
    }

    const orphaned = (walk: ImageWalk) => {
      const { image } = walk.world
      const finalizers = image.metadata.finalizers?.filter((one) => one !== 'orphan') ?? []
      walk.set({ image: { ...image, metadata: { ...image.metadata, finalizers } } })
      return walk.set({ dataVolumes: [], snapshots: [], claims: [], dataSource: undefined }).settle()
    }

    it('leaves its children to the garbage collector, and lets it go when they have no owner any more', () => {
      const walk = orphaning(published())
      expect([deletions(walk), walk.isGone]).toEqual([[], false])
      expect(walk.status.message).toContain(`DataVolume ${walk.childName}, which stays without an owner`)
      expect([deletions(orphaned(walk)), walk.isGone]).toEqual([[], true])
    })

    it('stops a download all the same, and only as it was seen: what has no owner any more is not ours', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running).markDeleted()
      const { metadata } = walk.world.dataVolumes[0] ?? {}
      for (const step of [walk, walk.set({ references: ONE_USER })])
        expect(step.plan().remove).toMatchObject([{ kind: 'DataVolume', resourceVersion: metadata?.resourceVersion }])
      expect(deletions(orphaning(walk.set({ references: NO_REFERENCES })))).toEqual([
        `delete DataVolume ${walk.childName}`,
      ])
    })

    it('waits for a download that lost its owner before it was stopped, names it, and never touches it', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const orphan = `DataVolume ${walk.childName}`
      walk.set({ lookup: aLookup({ foreignSlotVolume: orphan }) }).markDeleted()
      orphaned(walk)
      expect(deletions(walk)).toEqual([])
      expect([walk.isGone, walk.stand]).toEqual([false, 'Syncing/Deleting'])
      expect(walk.status.message).toBe(
        `being deleted: waiting for ${orphan}, which has lost its owner and may still download: it keeps the slot until it has Succeeded, or has taken as long as an attempt may; delete it to free the slot now`,
      )
      expect(walk.release().isGone).toBe(true)
    })
  })
})

describe('gone', () => {
  describe('deleting an image', () => {
    it('that waits in the queue lets it go at once', () => {
      const walk = new ImageWalk()
      walk.settle().markDeleted().settle()
      expect(walk.log.at(-1)).toBe('finalizer released')
    })

    it('never adds a finalizer', () => {
      const walk = new ImageWalk()
      walk.markDeleted()
      expect(walk.plan().finalizer).not.toBe('add')
    })
  })
})
