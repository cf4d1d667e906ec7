import { expect, it } from 'vitest'
import { FakeClock } from '../../../../test/prepared/kube/fake-clock.ts'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aDataVolume } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { Store } from '../../../runtime/store.ts'
import { SeenDownloads } from './seen-downloads.ts'

const named = (at: number) => aDataVolume({ metadata: { name: `dv-${at}`, namespace: 'n', uid: `uid-${at}` } })

it('downloads that are gone are forgotten before there are twice as many of them as of those that exist', () => {
  const dataVolumes = new Store<DataVolumeView>()
  const patience = () => ({ stallTimeoutMs: MINUTE, attemptTimeoutMs: MINUTE })
  const seen = new SeenDownloads({ dataVolumes, clock: new FakeClock(), patience })
  for (let at = 0; at < 1_000; at += 1) {
    if (at < 100) dataVolumes.put(named(at))
    seen.noteHeld(named(at))
    seen.prune()
  }
  const known = Array.from({ length: 1_000 }, (_, at) => seen.wasHeld(named(at)))
  expect(known.slice(0, 100)).not.toContain(false)
  expect(known.filter((one) => one).length).toBeLessThanOrEqual(300)
})
