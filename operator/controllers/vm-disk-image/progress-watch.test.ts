import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import { judgeDataVolume } from './judge.ts'
import { ProgressWatch } from './progress-watch.ts'
import type { DataVolumeView, PodView } from './views.ts'
import { aDataVolume, aPod, CDI, childMeta, HOUR, MINUTE } from './world.fixtures.ts'
import { importersIn } from './world.ts'

const build = () => {
  const clock = new FakeClock()
  const watch = new ProgressWatch(clock)
  const look = (change: Partial<DataVolumeView> = {}, pods = [aPod('first')]) =>
    watch.look('u', aDataVolume(change), pods)
  return { clock, watch, look }
}

describe('a download', () => {
  it('has not moved since anything about it changed', () => {
    const { clock, look } = build()
    expect(look().unchangedMs).toBe(0)
    clock.freeze(5_000)
    expect(look().unchangedMs).toBe(5_000)
    expect(look({ progress: '11.0%' }).unchangedMs).toBe(0)
    clock.freeze(1_000)
    expect(look({ progress: '11.0%' }).unchangedMs).toBe(1_000)
    expect(look({ progress: '11.0%', phase: 'ImportScheduled' }).unchangedMs).toBe(0)
  })

  it('is looked at anew when it is another one, or was over in between', () => {
    const { clock, watch, look } = build()
    look()
    clock.freeze(5_000)
    expect(look({ metadata: childMeta('img-0', '0', { uid: 'second' }) })).toMatchObject({ unchangedMs: 0 })
    clock.freeze(5_000)
    watch.look('u', undefined, [])
    expect(look({ metadata: childMeta('img-0', '0', { uid: 'second' }) }).unchangedMs).toBe(0)
    clock.freeze(5_000)
    watch.forget('u')
    expect(look().unchangedMs).toBe(0)
  })

  it('is by the pod that it began with, and another one is told from it', () => {
    const { look } = build()
    expect(look({}, [])).toMatchObject({ importerPodUid: undefined, isImporterReplaced: false })
    expect(look({}, [aPod('first')])).toMatchObject({ importerPodUid: 'first', isImporterReplaced: false })
    expect(look({}, [])).toMatchObject({ importerPodUid: 'first', isImporterReplaced: false })
    expect(look({}, [aPod('second')])).toMatchObject({ importerPodUid: 'first', isImporterReplaced: true })
  })

  it('is by the pod with scratch space, when the first one only asked for that; but by no third one', () => {
    const { look } = build()
    look({}, [aPod('asks')])
    const scratch = { hasScratch: true }
    expect(look({}, [aPod('downloads', scratch)])).toMatchObject({
      importerPodUid: 'downloads',
      isImporterReplaced: false,
    })
    expect(look({}, [aPod('third', scratch)])).toMatchObject({ importerPodUid: 'downloads', isImporterReplaced: true })
  })

  it.each<[string, PodView, boolean]>([
    ['the pod that the status names', aPod('known'), false],
    ['one with scratch space that followed it', aPod('next', { hasScratch: true }), false],
    ['one that replaced it while nobody led', aPod('next'), true],
  ])('of which a new process first sees %s', (_name, pod, isImporterReplaced) => {
    const { watch } = build()
    expect(watch.look('u', aDataVolume(), [pod], 'known')).toMatchObject({ isImporterReplaced })
  })
})

describe('an importer pod that is on its way out', () => {
  const createdAt = '2026-01-01T00:10:00Z'
  const dataVolume = aDataVolume({
    ...CDI.running,
    metadata: childMeta('img-0', '0', { uid: 'dv-2', creationTimestamp: createdAt }),
  })
  const podAt = (uid: string, creationTimestamp: string, more: Partial<PodView['metadata']> = {}) => {
    const pod = aPod(uid)
    return { ...pod, metadata: { ...pod.metadata, creationTimestamp, ...more } }
  }
  const before = '2026-01-01T00:05:00Z'
  const after = '2026-01-01T00:10:05Z'
  const verdictsOf = (...looks: readonly (readonly PodView[])[]) => {
    const watch = new ProgressWatch(new FakeClock())
    return looks.map((known) => {
      const pods = importersIn({ importers: new Map([['dv-2', known]]) }, dataVolume)
      const { isImporterReplaced, unchangedMs } = watch.look('u', dataVolume, pods)
      const context = {
        pods,
        isImporterReplaced,
        unchangedMs,
        ageMs: 0,
        stallTimeoutMs: MINUTE,
        attemptTimeoutMs: HOUR,
      }
      return judgeDataVolume(dataVolume, context)
    })
  }
  const running = { state: 'running' }

  it.each<[string, PodView]>([
    ['runs still', podAt('old', after, { deletionTimestamp: after })],
    ['has failed', { ...podAt('old', before, { deletionTimestamp: after }), phase: 'Failed' }],
  ])('that %s does not fail the new download, seen before, beside or after its own pod', (_name, old) => {
    const own = podAt('own', after)
    expect(verdictsOf([old], [old, own], [own, old], [own])).toEqual([running, running, running, running])
    expect(verdictsOf([own], [own, old])).toEqual([running, running])
  })

  it('is no excuse for a pod that replaces the own one', () => {
    const [old, own, next] = [
      podAt('old', before, { deletionTimestamp: after }),
      podAt('own', after),
      podAt('next', after),
    ]
    expect(verdictsOf([old], [old, own], [old, next])).toMatchObject([
      running,
      running,
      { state: 'failed', reason: 'ImporterReplaced', downloads: 2 },
    ])
  })
})
