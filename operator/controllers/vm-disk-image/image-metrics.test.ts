import {
  type Attempt,
  SOURCE_TYPES,
  type VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import { aHolder, bench, renewBench } from '../../../test/prepared/vm-disk-image/admission.ts'
import { anImage } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import type { ImageView } from '../../images/image-view.ts'
import { Store } from '../../runtime/store.ts'
import type { ImageCaches } from './caches.ts'
import { ImageMetrics } from './image-metrics.ts'

afterEach(renewBench)

/** Lines of the exposition text that are about this metric. */
async function lines(registry: Registry, name: string): Promise<string[]> {
  const text = await registry.metrics()
  return text.split('\n').filter((line) => line.startsWith(name) && !line.startsWith(`${name}_bucket`))
}

/** Caches of images and DataVolumes, and no others. */
function bareCaches() {
  const images = new Store<ImageView>()
  return { images, caches: { images, cluster: { dataVolumes: new Store() } } as unknown as ImageCaches }
}

const succeeded: Attempt = {
  number: 1,
  revision: '01234567',
  outcome: 'Succeeded',
  reason: 'Synced',
  message: 'downloaded',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.400Z',
  durationSeconds: 1,
  dataVolumeUID: 'dv-1',
}
it('count artifacts that are gone, and not those of images that are gone', async () => {
  const { images, caches } = bareCaches()
  const registry = new Registry()
  const stops = new ImageMetrics(registry, new FakeClock()).count(caches)
  const put = (version: string, name: string, status: VMDiskImageStatus) =>
    images.put(anImage({ name, uid: name, resourceVersion: version }, { status }))
  const artifact = { kind: 'VolumeSnapshot', name: 'a', revision: 'r' } as const
  put('1', 'a', { artifact })
  put('2', 'b', { artifact })
  put('3', 'a', {})
  images.remove(anImage({ name: 'b', uid: 'b', resourceVersion: '4' }))
  expect(await lines(registry, 'ot_vmdi_artifacts_lost_total')).toEqual(['ot_vmdi_artifacts_lost_total 1'])
  for (const stop of stops) stop()
})

/** Series of a counter that are not 0, as all are from the start. */
async function counted(registry: Registry, name: string): Promise<string[]> {
  return (await lines(registry, name)).filter((line) => !line.endsWith(' 0'))
}

const failed: Attempt = { ...succeeded, outcome: 'Failed', reason: 'ImporterFailed', dataVolumeUID: 'dv-0' }

describe('an attempt', () => {
  it('is counted when it is new, once, with its exact duration', async () => {
    const registry = new Registry()
    const metrics = new ImageMetrics(registry, new FakeClock())
    metrics.attempted([], [failed])
    metrics.attempted([failed], [failed, succeeded])
    metrics.attempted([failed, succeeded], [failed, succeeded])
    metrics.attempted([failed, succeeded], undefined)
    expect(await counted(registry, 'ot_sync_attempts_total')).toEqual([
      'ot_sync_attempts_total{result="Succeeded",reason="Synced"} 1',
      'ot_sync_attempts_total{result="Failed",reason="ImporterFailed"} 1',
    ])
    expect(await lines(registry, 'ot_sync_duration_seconds')).toEqual([
      'ot_sync_duration_seconds_sum 1.4',
      'ot_sync_duration_seconds_count 1',
    ])
  })

  it('of a DataVolume that had ended before is another one', async () => {
    const registry = new Registry()
    const again = { ...succeeded, outcome: 'Cancelled', endedAt: '2026-01-01T00:05:00.000Z' } as const
    new ImageMetrics(registry, new FakeClock()).attempted([succeeded], [succeeded, again])
    expect(await counted(registry, 'ot_sync_attempts_total')).toHaveLength(1)
  })
})

describe('an error of which nobody knows whether it passes', () => {
  it.each([
    ['is counted by source type', {}, 1],
    ['is not one that is known to pass', { message: 'Unable to process data: unexpected EOF' }, 0],
    ['is none of a reason of its own', { reason: 'Stalled' }, 0],
  ])('%s', async (_name, change, expected) => {
    const registry = new Registry()
    const metrics = new ImageMetrics(registry, new FakeClock())
    const { images, caches } = bareCaches()
    metrics.count(caches)
    const put = (resourceVersion: string, status: VMDiskImageStatus) =>
      images.put(anImage({ name: 'a', uid: 'a', resourceVersion }, { status }))
    put('101', {})
    put('102', { attempts: [{ ...failed, message: 'a text of a later version', ...change }] })
    const counted = await lines(registry, 'ot_unknown_import_errors_total{')
    expect(counted).toHaveLength(SOURCE_TYPES.length)
    expect(counted).toContain(`ot_unknown_import_errors_total{source_type="http"} ${expected}`)
  })
})

describe('the gauges', () => {
  it('are what there is when they are read, and 0 where nobody leads', async () => {
    const registry = new Registry()
    const metrics = new ImageMetrics(registry, new FakeClock())
    const condition = (type: keyof typeof VM_DISK_IMAGE_CONDITIONS) =>
      ({ type, status: 'True', reason: '', message: '' }) as const
    const artifact = (restoreSize: string) =>
      ({ kind: 'VolumeSnapshot', name: 'a', revision: '01234567', restoreSize }) as const
    const statuses: VMDiskImageStatus[] = [
      { phase: 'Queued', references: { count: 3, machines: 2, names: [] }, conditions: [condition('DeletionBlocked')] },
      { phase: 'Queued', references: { count: 1, names: [] } },
      { conditions: [condition('Unreferenced')], artifact: artifact('10Gi') },
      { conditions: [condition('Unreferenced')], artifact: artifact('odd') },
      { artifact: artifact('5Gi') },
      { phase: 'Failed', conditions: [{ ...condition('Reconciling'), reason: 'RetryLimitExceeded' }] },
    ]
    const holders = [aHolder('a'), aHolder('b')]
    const admission = { state: { limit: 4, holders }, queue: { size: 7 }, countStrays: () => 1 }
    const images = new Map(statuses.map((status, at) => [at, anImage({}, { status })]))
    const read = async () => [
      ...(await lines(registry, 'ot_sync_active')),
      ...(await lines(registry, 'ot_sync_concurrency_limit')),
      ...(await lines(registry, 'ot_sync_queue_length')),
      ...(await lines(registry, 'ot_vmdi_phase{phase="Queued"}')),
      ...(await lines(registry, 'ot_vmdi_references')),
      ...(await lines(registry, 'ot_vmdi_machine_references')),
      ...(await lines(registry, 'ot_vmdi_unreferenced')),
      ...(await lines(registry, 'ot_sync_without_slot')),
      ...(await lines(registry, 'ot_vmdi_failed{')),
      ...(await lines(registry, 'ot_vmdi_deletion_blocked')),
    ]
    metrics.readFrom({ admission, images })
    expect(await read()).toEqual([
      'ot_sync_active 2',
      'ot_sync_concurrency_limit 4',
      'ot_sync_queue_length 7',
      'ot_vmdi_phase{phase="Queued"} 2',
      'ot_vmdi_references 4',
      'ot_vmdi_machine_references 2',
      'ot_vmdi_unreferenced 2',
      'ot_vmdi_unreferenced_bytes 10737418240',
      'ot_sync_without_slot 1',
      'ot_vmdi_failed{reason="RetryLimitExceeded"} 1',
      'ot_vmdi_deletion_blocked 1',
    ])
    metrics.readFrom(undefined)
    expect((await read()).every((line) => line.endsWith(' 0'))).toBe(true)
  })
})

describe('a look-alike', () => {
  it('is an increase from the first one on', async () => {
    const registry = new Registry()
    const metrics = new ImageMetrics(registry, new FakeClock())
    const before = await lines(registry, 'ot_look_alikes_total{')
    metrics.lookAlike('Pod')
    const after = await lines(registry, 'ot_look_alikes_total{')
    expect([before.length, before.at(-1), after.at(-1)]).toEqual([
      4,
      'ot_look_alikes_total{kind="Pod"} 0',
      'ot_look_alikes_total{kind="Pod"} 1',
    ])
  })
})

describe('a claim', () => {
  it('whose write was carried out without an answer is one wait, like every other', async () => {
    await bench.start()
    let isLost = false
    bench.client.after = ({ verb, kind }) => {
      if (isLost || verb !== 'replace' || kind !== 'ConfigMap') return
      isLost = true
      throw apiError('NoAnswer')
    }
    bench.want('first', '10')
    await bench.clock.advance(10 * SECOND)
    expect([isLost, bench.created]).toEqual([true, ['first']])
    expect(await lines(bench.registry, 'ot_sync_wait_seconds_count')).toEqual(['ot_sync_wait_seconds_count 1'])
  })
})

it('a wait that another leader counted is not counted again in a second term', async () => {
  const registry = new Registry()
  const metrics = new ImageMetrics(registry, new FakeClock())
  const { images, caches } = bareCaches()
  const waiting = { type: 'Reconciling', status: 'True', reason: 'SecretMissing', message: '' } as const
  const put = (resourceVersion: string, status: VMDiskImageStatus) =>
    images.put(anImage({ name: 'a', uid: 'a', resourceVersion }, { status }))
  const term = () => {
    const stops = metrics.count(caches)
    return () => {
      for (const stop of stops) stop()
    }
  }
  const end = term()
  put('101', { phase: 'Queued', conditions: [waiting] })
  end()
  put('102', { phase: 'Syncing' })
  term()
  put('103', { phase: 'Snapshotting' })
  expect(await lines(registry, 'ot_sync_blocked_seconds_count')).toEqual([])
})
