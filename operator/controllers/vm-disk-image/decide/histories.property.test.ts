import { LABELS } from '@open-terrain/constructs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { CDI, IMAGE_UID, REFRESH, RETRY } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { aLookup } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { isFinished } from '../../../cluster/import-facts.ts'

/** What may happen to an image, each only where it is possible. */
const ACTS: Readonly<Record<string, (walk: ImageWalk) => unknown>> = {
  admit: (walk) => walk.plan().start?.admissible && walk.world.slot === undefined && walk.admit(),
  claim: (walk) => walk.plan().start?.admissible && walk.world.slot === undefined && walk.claim(),
  run: (walk) => isUnfinished(walk) && walk.report(CDI.running),
  fail: (walk) => isUnfinished(walk) && walk.report(CDI.failing),
  failForGood: (walk) => isUnfinished(walk) && walk.report(CDI.notFound),
  restart: (walk) => isUnfinished(walk) && walk.report({ ...CDI.running, restartCount: 1 }),
  succeed: (walk) => isUnfinished(walk) && walk.report(CDI.succeeded),
  importAgain: (walk) =>
    walk.world.dataVolumes.length > 0 &&
    !isUnfinished(walk) &&
    walk.report({ progress: 'N/A', bound: { status: 'False', reason: 'Pending', message: '' } }),
  importersGone: (walk) => walk.importersGone(),
  dropDataVolumes: (walk) => walk.dropDataVolumes(),
  dropSnapshots: (walk) => walk.set({ snapshots: [] }),
  dropAlias: (walk) => walk.set({ dataSource: undefined }),
  release: (walk) => walk.world.dataVolumes.every(isFinished) && walk.release(),
  ready: (walk) => walk.snapshotReady(),
  later: (walk) => walk.after(MINUTE),
  muchLater: (walk) => walk.after(2 * HOUR),
  editUrl: (walk) => walk.edit({ url: `https://images.example/${walk.log.length}` }),
  editClass: (walk) => walk.edit({ snapshotClass: 'other' }),
  suspend: (walk) => walk.edit({ suspend: true }),
  resume: (walk) => walk.edit({ suspend: undefined }),
  refresh: (walk) => walk.annotate({ [REFRESH]: String(walk.log.length) }),
  retry: (walk) => walk.annotate({ [RETRY]: String(walk.log.length) }),
  secretGone: (walk) => walk.set({ lookup: aLookup({ secret: 'missing' }) }),
  secretThere: (walk) => walk.set({ lookup: aLookup() }),
  pause: (walk) => walk.set({ limit: 0 }),
  goOn: (walk) => walk.set({ limit: 4 }),
}

const isUnfinished = (walk: ImageWalk) => walk.world.dataVolumes.some((one) => !isFinished(one))

function after(history: readonly string[], holds: (walk: ImageWalk) => void = () => undefined): ImageWalk {
  const walk = new ImageWalk().settle()
  for (const name of history) {
    ACTS[name]?.(walk)
    // Settling is a check in itself: a plan for an unchanged world writes nothing.
    walk.settle()
    holds(walk)
  }
  return walk
}

const histories = fc.array(fc.constantFrom(...Object.keys(ACTS)), { maxLength: 25 })

function always(holds: (history: readonly string[]) => void): void {
  fc.assert(
    fc.property(histories, (history) => holds(history)),
    { numRuns: 300 },
  )
}

describe('after any history', () => {
  it('the plans come to rest, and stay there until the next time that they asked for', () => {
    always((history) => {
      after(history, (walk) => expect(walk.writtenUntilRequeue(HOUR)).toEqual([]))
    })
  })

  it('an image is Syncing only while it holds a slot', () => {
    always((history) => {
      after(history, (walk) => {
        if (walk.status.phase === 'Syncing') expect(walk.world.slot).toBeDefined()
      })
    })
  })

  it('Ready says whether there is an artifact', () => {
    always((history) => {
      after(history, (walk) => {
        const { artifact } = walk.status
        expect(walk.condition('Ready')).toBe(artifact === undefined ? 'False' : 'True')
        const names = [...walk.world.snapshots, ...walk.world.claims].map(({ metadata }) => metadata.name)
        if (artifact !== undefined) expect(names).toContain(artifact.name)
      })
    })
  })

  it('it is gone with nothing left, once it is deleted', () => {
    always((history) => {
      const walk = after(history).markDeleted().settle().importersGone()
      if (walk.world.slot !== undefined) walk.release()
      expect(walk.isGone).toBe(true)
      const left = [...walk.world.dataVolumes, ...walk.world.snapshots]
      expect(left.filter(({ metadata }) => metadata.labels?.[LABELS.imageUid] === IMAGE_UID)).toEqual([])
    })
  })
})
