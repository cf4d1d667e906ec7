import { setTimeout as sleep } from 'node:timers/promises'
import { IMAGE } from '../../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeClient } from '../../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, NAMESPACE } from '../../../operator/kube/resource-types.ts'
import { inParallel } from '../../harness/in-parallel.ts'
import { atMost, type Chapter, RUNS } from '../figure.ts'
import { longestGap, RENEW_DEADLINE_S } from '../renewals.ts'
import { untilQuiet } from '../requests.ts'
import { Stage } from '../stage.ts'
import { stopwatch } from '../stopwatch.ts'
import { storeFinishedImages } from '../stored-images.ts'

const FOREIGN = 500
const BYTES = 250_000
const TENANT = 'tenant'
/** Images deleted in each run. Each deletion uses a live list of all DataVolumes to find clones of the image. */
const DELETED = 16
const CHANGES = 200
const LOOK_MS = 100
const TIMEOUT_MS = 300_000

/** Measures the operator while a tenant stores large objects of a kind that it watches and lists. */
export async function measureForeign(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: '4' } })
  await storeFinishedImages(stage, RUNS * DELETED)
  await storeForeign(stage.client)
  tell('stored')
  const peaks: number[] = []
  const resident: number[] = []
  const gaps: number[] = []
  const deletions: number[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    await using operator = await stage.startOperator()
    await operator.untilLeading(TIMEOUT_MS)
    const gap = await longestGap(stage.client, async () => {
      await untilQuiet(operator)
      const passed = stopwatch()
      await Promise.all([deleteSome(stage.client), changeForeign(stage.client, run)])
      deletions.push(passed())
      await untilQuiet(operator)
    })
    const memory = await operator.memory()
    peaks.push(memory.peak / 1e6)
    resident.push(memory.resident / 1e6)
    gaps.push(gap / 1_000)
    tell(`run ${run}: ${memory.peak / 1e6} MB at most, ${gap} ms between renewals`)
  }
  return {
    title: `${FOREIGN} large objects of others`,
    method:
      `${FOREIGN} DataVolumes with ${BYTES / 1_000} kB of annotations each, in a namespace of a tenant, beside ${RUNS * DELETED} finished images. A new process for each run: it starts, ` +
      `${DELETED} images are deleted at once (each asks live lists who still clones from it), and meanwhile the tenant changes ${CHANGES} of its objects, one after the other.`,
    figures: [
      { title: 'the most that was resident', unit: 'MB', digits: 1, values: peaks, target: atMost(200, 'MB') },
      { title: 'resident at the end', unit: 'MB', digits: 1, values: resident },
      {
        title: 'longest time between two renewals of the Lease',
        unit: 's',
        digits: 1,
        values: gaps,
        target: atMost(RENEW_DEADLINE_S, 's'),
      },
      { title: 'images and changes done', unit: 's', digits: 1, values: deletions },
    ],
  }
}

async function storeForeign(client: KubeClient): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } })
  await inParallel(FOREIGN, async (at) => {
    const status = { phase: 'Succeeded', progress: '100.0%' }
    const spec = { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } }
    const metadata = { namespace: TENANT, name: `large-${at}`, annotations: { 'tenant.example/note': noteOf(at) } }
    const wanted = {
      apiVersion: apiVersionOf(DATA_VOLUME),
      kind: DATA_VOLUME.kind,
      metadata,
      spec,
      status,
    } as KubeObject
    const created = await client.create(DATA_VOLUME, wanted)
    await client.replaceStatus(DATA_VOLUME, { ...wanted, metadata: created.metadata })
  })
}

/** Differs in each object, so that no copies can be shared. */
function noteOf(seed: number): string {
  return `${seed} `.repeat(Math.ceil(BYTES / `${seed} `.length)).slice(0, BYTES)
}

async function deleteSome(client: KubeClient): Promise<void> {
  const { items } = await client.list(IMAGE)
  const chosen = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).slice(0, DELETED)
  for (const { metadata } of chosen) await client.delete(IMAGE, metadata)
  const names = new Set(chosen.map(({ metadata }) => metadata.name))
  const deadline = performance.now() + TIMEOUT_MS
  while ((await client.list(IMAGE)).items.some(({ metadata }) => names.has(metadata.name))) {
    if (performance.now() > deadline) throw new Error('images that were deleted are still there')
    await sleep(LOOK_MS)
  }
}

async function changeForeign(client: KubeClient, run: number): Promise<void> {
  for (let at = 0; at < CHANGES; at += 1) {
    const annotations = { 'tenant.example/note': noteOf(run * FOREIGN + at) }
    await client.mergePatch(DATA_VOLUME, { namespace: TENANT, name: `large-${at}` }, { metadata: { annotations } })
  }
}
