import { setInterval as everyMs, setTimeout as sleep } from 'node:timers/promises'
import { parseQuantity } from '@open-terrain/constructs/operator'
import { MEMORY_LIMIT } from '@open-terrain/constructs/platform'
import { systemClock } from '../../../operator/base/clock.ts'
import { IMAGE } from '../../../operator/controllers/vm-disk-image/caches.ts'
import { isApiError } from '../../../operator/kube/api-error.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../../operator/kube/resource-types.ts'
import { LARGE_OBJECTS, storeLargeObjects } from '../../harness/large-objects.ts'
import { atMost, type Chapter, RUNS } from '../figure.ts'
import { longestGap, RENEW_DEADLINE_S } from '../renewals.ts'
import { untilQuiet } from '../requests.ts'
import { Stage } from '../stage.ts'

/** The load of others: as in the chapter of 24 images. */
const IMAGES = 24
const SECONDS = 3
const LIMIT = 4
const RATIO = 1.5
const TENANT = 'tenant'
/** A tenant who changes nothing. */
const CALM = 'calm'
/** Images of a tenant at the head of the queue. */
const FIRST = 10
const CHANGES_PER_SECOND = 25
const TIMEOUT_MS = 600_000
const LOOK_MS = 100

interface SyncedImage extends KubeObject {
  readonly status?: { readonly phase?: string }
}

/** Measures how much later the images of others are there, beside a tenant who stores as much as he can and changes it as often as he can. */
export async function measureTenant(tell: (line: string) => void): Promise<Chapter> {
  const [ratios, peaks, gaps, alone, beside]: [number[], number[], number[], number[], number[]] = [[], [], [], [], []]
  for (let run = 1; run <= RUNS; run += 1) {
    await using stage = await Stage.start({ policy: { concurrency: String(LIMIT) } })
    await stage.startSimulators({ durationMs: SECONDS * 1_000 })
    const first = await stage.startLeader('alone')
    await untilQuiet(first)
    await createNamespace(stage, CALM)
    await createFirst(stage, CALM)
    const aloneMs = await syncOthers(stage, 'alone')
    await first.terminate()
    await createNamespace(stage, TENANT)
    await storeLargeObjects(stage.client, TENANT)
    const operator = await stage.startOperator('beside')
    await operator.untilLeading(TIMEOUT_MS)
    let besideMs = 0
    const gap = await longestGap(stage.client, async () => {
      const restless = new AbortController()
      const changing = changeOften(stage, await createFirst(stage, TENANT), restless.signal)
      besideMs = await syncOthers(stage, 'beside').finally(() => restless.abort())
      await changing
    })
    const { peak } = await operator.memory()
    alone.push(aloneMs / 1_000)
    beside.push(besideMs / 1_000)
    ratios.push(besideMs / aloneMs)
    peaks.push(peak / 1e6)
    gaps.push(gap / 1_000)
    tell(
      `run ${run}: ${besideMs} ms beside a tenant, ${aloneMs} ms alone; ${peak / 1e6} MB at most, ${gap} ms between renewals`,
    )
  }
  return {
    title: 'a tenant who stores and changes what he can',
    method:
      `${IMAGES} images of ${SECONDS} s at a limit of ${LIMIT}, twice on one control plane in each run, with ${FIRST} images of a tenant before them in the queue: alone with these, and beside ${LARGE_OBJECTS} of 0.7 to 1.3 MB each, where ` +
      `each of the tenant's images is changed ${CHANGES_PER_SECOND} times a second (an annotation, and its finalizers removed). The operator has the heap of its default memory limit. ` +
      'From the first create request to the last of the images that Succeeded.',
    figures: [
      {
        title: 'the images of others: time beside the tenant / alone',
        unit: '',
        digits: 2,
        values: ratios,
        target: atMost(RATIO),
      },
      { title: 'alone', unit: 's', digits: 1, values: alone },
      { title: 'beside the tenant', unit: 's', digits: 1, values: beside },
      { title: 'the most that was resident', unit: 'MB', digits: 1, values: peaks, target: atMost(limitMb(), 'MB') },
      {
        title: 'longest time between two renewals of the Lease',
        unit: 's',
        digits: 1,
        values: gaps,
        target: atMost(RENEW_DEADLINE_S, 's'),
      },
    ],
  }
}

/** Returns the memory limit of an installation in MB, rounded down. */
function limitMb(): number {
  return Number((parseQuantity(MEMORY_LIMIT) ?? 0n) / 1_000_000n)
}

/** Returns how long it takes, in milliseconds. */
async function syncOthers(stage: Stage, prefix: string): Promise<number> {
  const startedAt = systemClock.monotonic()
  await stage.createImages(prefix, IMAGES)
  for (;;) {
    const { items } = await stage.client.list<SyncedImage>(IMAGE, { namespace: stage.namespaces[0] ?? '' })
    const isDone = ({ metadata, status }: SyncedImage) =>
      metadata.name.startsWith(prefix) && status?.phase === 'Succeeded'
    const passed = systemClock.monotonic() - startedAt
    if (items.filter(isDone).length === IMAGES) return passed
    if (passed > TIMEOUT_MS) throw new Error(`the images of others were not there in ${TIMEOUT_MS / 1_000} s`)
    await sleep(LOOK_MS)
  }
}

async function createNamespace(stage: Stage, name: string): Promise<void> {
  await stage.client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
}

/** Creates the images of a tenant, before those of others. Returns their names. */
async function createFirst(stage: Stage, namespace: string): Promise<readonly string[]> {
  const names = Array.from({ length: FIRST }, (_, at) => `first-${at}`)
  for (const name of names) {
    const image = stage.image(name)
    await stage.client.create(IMAGE, { ...image, metadata: { ...image.metadata, namespace } })
  }
  return names
}

/** Changes the images of the tenant. Resolves when it was told to stop. */
async function changeOften(stage: Stage, names: readonly string[], signal: AbortSignal): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      let turn = 0
      for await (const _ of everyMs(1_000 / CHANGES_PER_SECOND)) {
        if (signal.aborted) break
        turn += 1
        const metadata = { finalizers: null, annotations: { 'tenant.example/turn': String(turn) } }
        await stage.client.mergePatch(IMAGE, { namespace: TENANT, name }, { metadata }).catch((error: unknown) => {
          if (!isApiError(error)) throw error
        })
      }
    }),
  )
}
