import type { Chapter, Figure } from '../figure.ts'
import { requestTable } from '../request-table.ts'
import { total } from '../requests.ts'
import { IMPORT_MS, LIMIT, type Memory, memoryOf, type Span, sceneOn } from '../scene.ts'
import { Stage } from '../stage.ts'

export interface DataSyncLoad {
  readonly dataSyncs: number
  /** Per DataSync. */
  readonly vms: number
  readonly runs: number
}

interface DataSyncRun extends Memory {
  /** The same images, created one by one. */
  readonly byHand: Span
  readonly first: Span
  /** The same number of DataSyncs again, with the same images. */
  readonly shared: Span
}

const NAMESPACES = 4
const EACH_TIMEOUT_MS = 2_000
const STAGE = { policy: { concurrency: String(LIMIT) }, spread: NAMESPACES }

/** Measures many DataSyncs at once with new images, then the same number again with the same images. */
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
  return { byHand: await imagesByHand(images), ...(await throughDataSyncs(dataSyncs, vms, images * EACH_TIMEOUT_MS)) }
}

async function imagesByHand(images: number): Promise<Span> {
  await using stage = await Stage.start(STAGE)
  const { observer, span } = await sceneOn(stage)
  return await span(
    () => stage.createImages('image', images),
    () => observer.until('all images', () => observer.countIn('Succeeded') === images, images * EACH_TIMEOUT_MS),
  )
}

async function throughDataSyncs(
  dataSyncs: number,
  vms: number,
  timeoutMs: number,
): Promise<Omit<DataSyncRun, 'byHand'>> {
  await using stage = await Stage.start(STAGE)
  const { observer, operator, span } = await sceneOn(stage)
  const release = (prefix: string, count: number) =>
    span(
      () => stage.createDataSyncs(prefix, dataSyncs, vms),
      () => observer.until('all DataSyncs', () => observer.readyDataSyncs.size === count, timeoutMs),
    )
  const first = await release('first', dataSyncs)
  const shared = await release('second', 2 * dataSyncs)
  return { first, shared, ...(await memoryOf(operator)) }
}
