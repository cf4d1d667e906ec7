import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import { ProgressWatch } from './progress-watch.ts'
import type { DataVolumeView } from './views.ts'
import { aDataVolume, aPod, childMeta } from './world.fixtures.ts'

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

  it('is told by the pod that it began with', () => {
    const { look } = build()
    expect(look({}, []).firstPodUid).toBeUndefined()
    expect(look({}, [aPod('first')]).firstPodUid).toBe('first')
    expect(look({}, [aPod('second')]).firstPodUid).toBe('first')
    expect(look({}, []).firstPodUid).toBe('first')
  })

  it('is told by the pod that really downloads, when the first one only asked for scratch space', () => {
    const { look } = build()
    look({}, [aPod('asks')])
    expect(look({}, [aPod('downloads', { hasScratch: true })]).firstPodUid).toBe('downloads')
    expect(look({}, [aPod('third', { hasScratch: true })]).firstPodUid).toBe('downloads')
  })
})
