import { systemClock } from '../../../operator/runtime/clock.ts'
import type { Requests } from '../bundled-operator.ts'
import type { Chapter, Figure } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { requestTable } from '../request-table.ts'
import { difference, total, untilQuiet, withoutRenewals } from '../requests.ts'
import { Stage } from '../stage.ts'

export interface DataSyncLoad {
  readonly dataSyncs: number
  /** Of each DataSync. */
  readonly vms: number
  readonly runs: number
}

/** What it took until everything rested. */
interface Span {
  readonly requests: Requests
  readonly seconds: number
  readonly cpu: number
}

interface DataSyncRun {
  /** The same images, created one by one. */
  readonly byHand: Span
  readonly first: Span
  /** As many DataSyncs again, which want the same. */
  readonly shared: Span
  readonly peakMb: number
}

const LIMIT = 10
const NAMESPACES = 4
const IMPORT_MS = 100
const EACH_TIMEOUT_MS = 2_000

/** Many DataSyncs at once, of images that nobody has; then as many again of the same. */
export async function measureDataSyncs(load: DataSyncLoad, tell: (line: string) => void): Promise<Chapter> {
  const { dataSyncs, vms } = load
  const runs: DataSyncRun[] = []
  for (let run = 1; run <= load.runs; run += 1) {
    const one = await oneRun(load)
    runs.push(one)
    tell(
      `${dataSyncs} DataSyncs of ${vms} images, run ${run}: ${one.first.seconds.toFixed(1)} s (the images by hand ${one.byHand.seconds.toFixed(1)} s), ` +
        `as many again of the same ${one.shared.seconds.toFixed(1)} s, ${(total(one.shared.requests) / dataSyncs).toFixed(2)} requests for each of these`,
    )
  }
  const requests = (of: DataSyncRun['first' | 'shared']) => total(of.requests)
  const figure = (title: string, unit: string, digits: number, of: (run: DataSyncRun) => number): Figure => {
    return { title, unit, digits, values: runs.map(of) }
  }
  return {
    title: `${dataSyncs} DataSyncs of ${vms} images each`,
    method:
      `The same ${dataSyncs * vms} images twice, on a new control plane each time: created one by one, and through DataSyncs, over ${NAMESPACES} namespaces, downloads of ${IMPORT_MS / 1_000} s, limit ${LIMIT}, 16 requests ` +
      'at a time. Then as many DataSyncs again that want the same images and so share them. Each time until the operator has come to rest.',
    figures: [
      figure(
        'all Succeeded / all images Succeeded that were created one by one',
        '',
        2,
        (run) => run.first.seconds / run.byHand.seconds,
      ),
      figure('all Succeeded', 's', 1, (run) => run.first.seconds),
      figure(
        'API requests more than for the images alone',
        '1/DataSync',
        2,
        (run) => (requests(run.first) - requests(run.byHand)) / dataSyncs,
      ),
      figure(
        'processor time of the operator more than for the images alone',
        'ms/DataSync',
        1,
        (run) => ((run.first.cpu - run.byHand.cpu) * 1_000) / dataSyncs,
      ),
      figure('of the same images: all Succeeded', 's', 1, (run) => run.shared.seconds),
      figure('of the same images: API requests', '1/DataSync', 2, (run) => requests(run.shared) / dataSyncs),
      figure(
        'of the same images: processor time of the operator',
        'ms/DataSync',
        1,
        (run) => (run.shared.cpu * 1_000) / dataSyncs,
      ),
      figure('the most that was resident', 'MB', 1, ({ peakMb }) => peakMb),
    ],
    tables: [
      requestTable(
        runs.map(({ shared }) => shared.requests),
        { count: dataSyncs, of: 'DataSync of the same images' },
      ),
    ],
  }
}

async function oneRun({ dataSyncs, vms }: DataSyncLoad): Promise<DataSyncRun> {
  const images = dataSyncs * vms
  const byHand = await onStage(images, async ({ stage, observer, span }) =>
    span(
      () => stage.createImages('image', images),
      (timeoutMs) => observer.until('all images', () => observer.countIn('Succeeded') === images, timeoutMs),
    ),
  )
  return await onStage(images, async ({ stage, observer, span, peakMb }) => {
    const release = (prefix: string, count: number) =>
      span(
        () => stage.createDataSyncs(prefix, dataSyncs, vms),
        (timeoutMs) => observer.until('all DataSyncs', () => observer.readyDataSyncs.size === count, timeoutMs),
      )
    const first = await release('first', dataSyncs)
    const shared = await release('second', 2 * dataSyncs)
    return { byHand, first, shared, peakMb: await peakMb() }
  })
}

interface Scene {
  readonly stage: Stage
  readonly observer: Observer
  readonly span: (begin: () => Promise<void>, end: (timeoutMs: number) => Promise<unknown>) => Promise<Span>
  readonly peakMb: () => Promise<number>
}

async function onStage<T>(images: number, play: (scene: Scene) => Promise<T>): Promise<T> {
  await using stage = await Stage.start({ policy: { concurrency: String(LIMIT) }, spread: NAMESPACES })
  await stage.startSimulators({ durationMs: IMPORT_MS })
  const observer = await stage.observe()
  const operator = await stage.startOperator()
  await operator.untilLeading()
  const span: Scene['span'] = async (begin, end) => {
    const before = await untilQuiet(operator)
    const cpuBefore = await operator.cpuSeconds()
    const startedAt = systemClock.monotonic()
    await Promise.all([begin(), end(images * EACH_TIMEOUT_MS)])
    const seconds = (systemClock.monotonic() - startedAt) / 1_000
    const requests = withoutRenewals(difference(await untilQuiet(operator), before))
    return { requests, seconds, cpu: (await operator.cpuSeconds()) - cpuBefore }
  }
  return await play({ stage, observer, span, peakMb: async () => (await operator.memory()).peak / 1e6 })
}
