import { LABELS } from '@open-terrain/constructs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../runtime/times.fixtures.ts'
import { CDI, IMAGE_UID, REFRESH, RETRY } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup } from '../image-world.fixtures.ts'
import { isFinished } from './judge.ts'

/** What may happen to an image, each where it is possible. */
const ACTS: Readonly<Record<string, (walk: Walk) => unknown>> = {
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
  secretGone: (walk) => walk.set({ lookup: aLookup({ secrets: ['creds'] }) }),
  secretThere: (walk) => walk.set({ lookup: aLookup() }),
  pause: (walk) => walk.set({ limit: 0 }),
  goOn: (walk) => walk.set({ limit: 4 }),
}

const isUnfinished = (walk: Walk) => walk.world.dataVolumes.some((one) => !isFinished(one))

describe('after any history', () => {
  const histories = fc.array(fc.constantFrom(...Object.keys(ACTS)), { maxLength: 25 })

  function check(history: readonly string[], holds: (walk: Walk) => void): void {
    const walk = new Walk()
    walk.settle()
    for (const name of history) {
      ACTS[name]?.(walk)
      // Coming to rest is a check in itself: a plan for an unchanged world writes nothing.
      walk.settle()
      holds(walk)
    }
  }

  it('the plans come to rest, and stay there until the next time that they asked for', () => {
    fc.assert(
      fc.property(histories, (history) => {
        check(history, (walk) => {
          const waitMs = Math.min(walk.plan().wake?.afterMs ?? HOUR, HOUR)
          const before = walk.log.length
          const now = walk.now
          walk.now += Math.max(0, Math.floor(waitMs) - 1)
          walk.step()
          walk.now = now
          expect(walk.log.slice(before)).toEqual([])
        })
      }),
      { numRuns: 300 },
    )
  })

  it('an image is Syncing only while it holds a slot', () => {
    fc.assert(
      fc.property(histories, (history) =>
        check(history, (walk) => {
          if (walk.status.phase === 'Syncing') expect(walk.world.slot).toBeDefined()
        }),
      ),
      { numRuns: 300 },
    )
  })

  it('Ready says whether there is an artifact', () => {
    fc.assert(
      fc.property(histories, (history) =>
        check(history, (walk) => {
          const { artifact } = walk.status
          expect(walk.condition('Ready')).toBe(artifact === undefined ? 'False' : 'True')
          const names = [...walk.world.snapshots, ...walk.world.claims].map(({ metadata }) => metadata.name)
          if (artifact !== undefined) expect(names).toContain(artifact.name)
        }),
      ),
      { numRuns: 300 },
    )
  })

  it('it is gone with nothing left, once it is deleted', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const walk = new Walk()
        walk.settle()
        for (const name of history) {
          ACTS[name]?.(walk)
          walk.settle()
        }
        walk.markDeleted().settle().importersGone()
        if (walk.world.slot !== undefined) walk.release()
        expect(walk.isGone).toBe(true)
        const left = [...walk.world.dataVolumes, ...walk.world.snapshots]
        expect(left.filter(({ metadata }) => metadata.labels?.[LABELS.imageUid] === IMAGE_UID)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })
})

it('costs a source that always fails no more than one and retryLimit downloads, whatever happens in between', () => {
  const quiet = ['later', 'muchLater', 'secretGone', 'secretThere', 'pause', 'goOn', 'claim', 'dropAlias', 'release']
  fc.assert(
    fc.property(fc.nat(3), fc.array(fc.constantFrom('try', ...quiet), { maxLength: 40 }), (retryLimit, history) => {
      const walk = new Walk({ policy: { retryLimit } })
      walk.settle()
      for (const name of history) {
        if (name === 'try' && walk.world.slot === undefined && walk.plan().start?.admissible) walk.fail()
        else ACTS[name]?.(walk)
        walk.settle()
      }
      expect(walk.log.filter((line) => line.startsWith('create')).length).toBeLessThanOrEqual(1 + retryLimit)
    }),
    { numRuns: 300 },
  )
})
