import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'

describe('tooLarge', () => {
  describe('an image that is too large', () => {
    const downloading = () => new ImageWalk().settle().admit().report(CDI.running)

    it('keeps its artifact, and is told once', () => {
      const walk = new ImageWalk().publish()
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

    it.each<[string, (walk: ImageWalk) => ImageWalk]>([
      ['fails', (walk) => walk.report({ restartCount: 1 })],
      ['takes longer than an attempt may', (walk) => walk.after(7 * HOUR)],
    ])('does not hold a slot with a download that %s', (_what, happen) => {
      const walk = happen(downloading().resize(true).settle())
      expect(walk.log.at(-1)).toMatch(/^delete DataVolume/)
      expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled' }])
    })

    it('is let go when somebody deletes it', () => {
      const walk = new ImageWalk().publish().resize(true).settle().markDeleted().settle().importersGone()
      expect(walk.isGone).toBe(true)
    })
  })
})

describe('invalid', () => {
  describe('a bad spec', () => {
    it('is told with the path of the field, and stops what runs', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.edit({ diskSize: 'huge' }).settle()
      expect(walk.stand).toBe('Failed/InvalidSpec')
      expect(walk.status.message).toContain('spec.diskSize')
      expect(walk.log.at(-1)).toMatch(/^delete DataVolume/)
    })

    it('that is good again while its download is still being torn down has not failed for that', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      walk.edit({ diskSize: 'huge' }).step()
      expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'SpecChanged' }])
      walk.edit({ diskSize: '10Gi' }).settle()
      expect(walk.status.attempts).toHaveLength(1)
      expect(walk.status.budget?.downloads).toBe(0)
    })

    it('removes nothing that is finished', () => {
      const walk = new ImageWalk()
      walk.publish()
      walk.edit({ diskSize: 'huge' }).settle()
      expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
      expect(walk.condition('Ready')).toBe('True')
    })
  })

  describe('a spec that is wrong for a while', () => {
    const WRONG = { diskSize: 'a lot' }

    const RIGHT = { diskSize: '10Gi' }

    it('does not use up the retries that were left', () => {
      const walk = new ImageWalk()
      walk.settle().fail()
      expect(walk.stand).toBe('Queued/RetryBackoff')
      walk.edit(WRONG).settle()
      expect(walk.stand).toBe('Failed/InvalidSpec')
      walk.edit(RIGHT).settle()
      expect(walk.stand).toBe('Queued/RetryBackoff')
      walk.after(HOUR)
      expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
    })

    it.each<[string, (walk: ImageWalk) => void]>([
      ['waits', () => undefined],
      ['downloads', (walk) => void walk.admit().report({ ...CDI.running, progress: '42.0%' })],
      ['waits for its next attempt', (walk) => void walk.fail()],
    ])('leaves nothing in the status that was true only while the image %s', (_name, lead) => {
      const walk = new ImageWalk()
      lead(walk.settle())
      walk.edit(WRONG).settle()
      expect(walk.stand).toBe('Failed/InvalidSpec')
      const { ticket, queuePosition, queuePositionTime, progress, nextRetryTime } = walk.status
      expect({ ticket, queuePosition, queuePositionTime, progress, nextRetryTime }).toEqual({})
    })
  })
})
