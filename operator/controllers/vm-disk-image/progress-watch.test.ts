import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { HOUR, MINUTE } from '../../../test/prepared/runtime/times.ts'
import { aDataVolume, aPod, CDI, childMeta } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { toTime } from '../../base/time.ts'
import { NOT_STARTED } from '../../cluster/importer-container.ts'
import type { DataVolumeView, PodView } from '../../cluster/views.ts'
import { ProgressWatch, type Sight } from './progress-watch.ts'

const build = () => {
  const clock = new FakeClock()
  const pulse = { workedUntil: () => clock.monotonic(), isSilent: false }
  const watch = new ProgressWatch(clock, pulse)
  const look = (change: Partial<DataVolumeView> = {}, importers = [aPod('first')], more: Partial<Sight> = {}) =>
    watch.look('u', {
      dataVolume: aDataVolume(change),
      hasClaim: true,
      importers,
      knownPodUid: undefined,
      wasDue: false,
      ...more,
    })
  return { clock, pulse, watch, look }
}

const going = (pod: PodView): PodView => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
})
const waiting = { importer: NOT_STARTED }
const completed = aPod('asks', {
  importer: { starts: 1, isRunning: false, ended: { reason: 'Completed', exitCode: 0, message: '' } },
})
const NOT_FOUND = {
  starts: 0,
  isRunning: false,
  ended: { reason: 'ContainerStatusUnknown', exitCode: 137, message: '' },
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

  it('is another one after another one, and after it was forgotten', () => {
    const { clock, watch, look } = build()
    look()
    clock.freeze(5_000)
    expect(look({ metadata: childMeta('img-0', '0', { uid: 'second' }) })).toMatchObject({ unchangedMs: 0 })
    clock.freeze(5_000)
    watch.forget('u')
    expect(look().unchangedMs).toBe(0)
  })

  it.each<[string, PodView[][], object]>([
    ['none', [[]], { starts: undefined, isImporterLost: false, importerPodUid: undefined }],
    ['one that waits', [[aPod('first', waiting)]], { starts: 0, isImporterLost: false, importerPodUid: undefined }],
    ['one that runs', [[aPod('first')]], { starts: 1, isImporterLost: false, importerPodUid: 'first' }],
    ['one that is gone for a moment', [[aPod('first')], []], { starts: 1, isImporterLost: false }],
    ['one that is being deleted', [[aPod('first')], [going(aPod('first'))]], { starts: 1, isImporterLost: true }],
    ['one in the place of another', [[aPod('first')], [aPod('second')]], { starts: 2, isImporterLost: true }],
    [
      'one that waits in the place of another',
      [[aPod('first')], [aPod('second', waiting)]],
      { starts: 1, isImporterLost: true, importerPodUid: 'first' },
    ],
    [
      'one in the place of one that never ran',
      [[aPod('first', waiting)], [going(aPod('first', waiting))], [aPod('second')]],
      { starts: 1, isImporterLost: false, importerPodUid: 'second' },
    ],
    [
      'one that was deleted before it ran, and ended all the same',
      [[going(aPod('first', waiting))], [going(aPod('first', { phase: 'Failed' }))]],
      { starts: 0, isImporterLost: false },
    ],
    [
      'one with scratch space after the one that asked for it',
      [[aPod('asks')], [aPod('downloads', { hasScratch: true })]],
      { starts: 1, isImporterLost: false, importerPodUid: 'downloads' },
    ],
    [
      'the same, of which the first was seen to end well',
      [[aPod('asks', { phase: 'Succeeded' })], [aPod('downloads', { hasScratch: true })]],
      { starts: 1, isImporterLost: false },
    ],
    [
      'one that asked for scratch space and was deleted while its kubelet still showed it as Running',
      [[aPod('asks')], [completed], [going(completed)], [aPod('downloads', { hasScratch: true })]],
      { starts: 1, isImporterLost: false, importerPodUid: 'downloads' },
    ],
    [
      'the same, of which the last status is that of a container that its kubelet did not find',
      [[completed], [going(aPod('asks', { phase: 'Failed', importer: NOT_FOUND }))]],
      { starts: 0, isImporterLost: false },
    ],
    [
      'one that downloaded everything and was deleted before its phase was Succeeded',
      [[aPod('asks')], [going(completed)]],
      { isImporterLost: false },
    ],
    [
      'a third one with scratch space',
      [[aPod('asks')], [aPod('downloads', { hasScratch: true })], [aPod('third', { hasScratch: true })]],
      { isImporterLost: true },
    ],
  ])('counts what its importers did: %s', (_name, looks, expected) => {
    const { look } = build()
    expect(looks.map((pods) => look({}, pods)).at(-1)).toMatchObject(expected)
  })

  it.each<[string, PodView, object]>([
    ['the pod that the status names', aPod('known'), { starts: 1, isImporterLost: false }],
    [
      'one with scratch space that followed it',
      aPod('next', { hasScratch: true }),
      { starts: 2, isImporterLost: false },
    ],
    ['one that replaced it while nobody led', aPod('next'), { starts: 2, isImporterLost: true }],
  ])('of which a new process first sees %s', (_name, pod, expected) => {
    const { look } = build()
    expect(look({}, [pod], { knownPodUid: 'known' })).toMatchObject(expected)
  })

  it('is remembered for what it has cost when its DataVolume is gone', () => {
    const { watch, look } = build()
    look({ ...CDI.new }, [])
    expect(watch.recall('u', aDataVolume().metadata.uid, [])).toMatchObject({ starts: 0 })
    look({ ...CDI.running, restartCount: 1 }, [aPod('first')])
    look({ ...CDI.new }, [])
    expect(watch.recall('u', aDataVolume().metadata.uid, [])).toMatchObject({ starts: 2 })
    expect(watch.recall('u', 'another one', [])).toMatchObject({ starts: undefined })
  })
})

describe('CDI', () => {
  const unreported = (uid: string, at: number) =>
    aDataVolume({ ...CDI.new, metadata: childMeta('img-0', '0', { uid, creationTimestamp: toTime(at) }) })
  const done = [aPod('first', { phase: 'Succeeded' })]

  it('is away when it does nothing about a new DataVolume for half a minute, and nothing else either', () => {
    const { clock, pulse, watch } = build()
    const look = (dataVolume: DataVolumeView, hasClaim = false) =>
      watch.look(dataVolume.metadata.uid ?? '', {
        dataVolume,
        hasClaim,
        importers: [],
        knownPodUid: undefined,
        wasDue: false,
      })
    const first = unreported('a', clock.now())
    look(first)
    clock.freeze(29_000)
    expect(watch.isCdiAway).toBe(false)
    clock.freeze(2_000)
    expect(watch.isCdiAway).toBe(true)
    // Another process relies on the status, which already says so.
    const next = new ProgressWatch(clock, pulse)
    next.look('a', { dataVolume: first, hasClaim: false, importers: [], knownPodUid: undefined, wasDue: true })
    expect(next.isCdiAway).toBe(true)
    // CDI has created the claim and reports nothing: a quota may be in its way.
    look(first, true)
    expect(watch.isCdiAway).toBe(false)
  })

  it('is not away while it acts on others', () => {
    const { clock, watch } = build()
    const sight = { hasClaim: false, importers: [], knownPodUid: undefined, wasDue: false }
    watch.look('a', { ...sight, dataVolume: unreported('a', clock.now()) })
    for (const progress of ['1.0%', '2.0%', '3.0%', '4.0%']) {
      watch.look('b', { ...sight, dataVolume: aDataVolume({ progress }) })
      clock.freeze(20_000)
      expect(watch.isCdiAway).toBe(false)
    }
  })

  it('is away when it does not note the end of an importer, and its time is held against nobody', () => {
    const { clock, watch, look } = build()
    look({}, done)
    expect(watch.isCdiAway).toBe(false)
    clock.freeze(HOUR)
    expect(look({}, done).unchangedMs).toBe(HOUR)
    expect(watch.isCdiAway).toBe(true)
    expect(look({}, done).unchangedMs).toBe(0)
    clock.freeze(1_000)
    look({ phase: 'ImportScheduled' }, done)
    expect(watch.isCdiAway).toBe(false)
  })

  it('is away while its pulse is silent: a download is no more unmoved than CDI could have said', () => {
    const { clock, pulse, watch, look } = build()
    const wentAt = clock.monotonic()
    look()
    clock.freeze(HOUR)
    pulse.workedUntil = () => wentAt + MINUTE
    expect(look().unchangedMs).toBe(MINUTE)
    expect(watch.isCdiAway).toBe(false)
    pulse.isSilent = true
    expect(watch.isCdiAway).toBe(true)
    // The pulse is still asked.
    let asked = 0
    pulse.workedUntil = () => {
      asked += 1
      return wentAt + MINUTE
    }
    expect(look().unchangedMs).toBe(0)
    expect(asked).toBe(1)
    // CDI is back, and takes a while to catch up.
    pulse.isSilent = false
    clock.freeze(15_000)
    pulse.workedUntil = () => clock.monotonic()
    expect(watch.isCdiAway).toBe(false)
    expect(look().unchangedMs).toBe(15_000)
  })

  it('is back as soon as it acts, before its Lease is looked at again', () => {
    const { clock, pulse, watch, look } = build()
    look()
    clock.freeze(MINUTE)
    pulse.isSilent = true
    expect(watch.isCdiAway).toBe(true)
    look({ progress: '11.0%' })
    expect(watch.isCdiAway).toBe(false)
  })

  it('is not asked for while a download moves', () => {
    const { clock, pulse, look } = build()
    pulse.workedUntil = () => {
      throw new Error('somebody asked')
    }
    for (const progress of ['1.0%', '2.0%', '3.0%']) {
      expect(look({ progress }).unchangedMs).toBe(0)
      clock.freeze(9_000)
      expect(look({ progress }).unchangedMs).toBe(9_000)
    }
  })

  it('is not away where it says what keeps it from handing the volume over', () => {
    const { clock, watch, look } = build()
    const message = 'target PVC x Pending and storageclass.storage.k8s.io "gone" not found'
    look({ bound: { status: 'False', reason: 'Pending', message } }, done)
    clock.freeze(HOUR)
    expect(watch.isCdiAway).toBe(false)
  })
})
