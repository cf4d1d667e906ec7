import { systemClock } from '../../../operator/base/clock.ts'
import type { Requests } from '../bundled-operator.ts'
import { atMost, type Chapter, exactly, type Figure } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { handOvers, idealMs, inversions, mostInParallel } from '../queue-arithmetic.ts'
import { requestTable } from '../request-table.ts'
import {
  difference,
  readsIn,
  renewalsOfLease,
  renewalsOfWatches,
  total,
  untilQuiet,
  withoutRenewals,
} from '../requests.ts'
import { Stage } from '../stage.ts'
import { percentile, quotients } from '../statistics.ts'

export interface QueueLoad {
  readonly images: number
  /** Duration of each download. */
  readonly seconds: number
  readonly limit: number
  /** Namespaces that the images are spread over. */
  readonly spread: number
  readonly runs: number
  /** Upper limit of makespan / ideal. */
  readonly ratio: number
  /** Upper limit of the operator's processor time per image, in ms. Absent: there are too few images for a meaningful value. */
  readonly cpuMs?: number
  /** Figures of the older operator under the same load, if it was measured. */
  readonly older?: OlderRun
}

interface OlderRun {
  readonly ratio: string
  readonly p50: string
  readonly p99: string
  readonly inversions: string
  readonly inParallel: string
  readonly requests: string
  readonly memory: string
  /** Processor time per image. */
  readonly cpu: string
}

/** Result of one run. */
interface QueueRun {
  readonly ratio: number
  readonly makespanSeconds: number
  readonly idealSeconds: number
  readonly handOversMs: readonly number[]
  /** Times of a bare client for the two writes of a hand-over, measured alongside. */
  readonly pairsMs: readonly number[]
  readonly inParallel: number
  readonly inversions: number
  readonly requests: Requests
  readonly requestsPerImage: number
  readonly progressWrites: number
  readonly positionWrites: number
  readonly leaseRequests: number
  readonly watchRenewals: number
  readonly readsPerImage: number
  readonly residentMb: number
  readonly cpuMsPerImage: number
  readonly simulatorsCpu: number
}

export async function measureQueue(load: QueueLoad, tell: (line: string) => void): Promise<Chapter> {
  const runs: QueueRun[] = []
  for (let run = 1; run <= load.runs; run += 1) {
    const measured = await oneRun(load)
    runs.push(measured)
    const [p50, p99] = [0.5, 0.99].map((share) => percentile(measured.handOversMs, share).toFixed(1))
    const [bare50, bare99] = [0.5, 0.99].map((share) => percentile(measured.pairsMs, share).toFixed(1))
    tell(
      `run ${run}: ratio ${measured.ratio.toFixed(3)}, hand-over ${p50} / ${p99} ms, a bare client ${bare50} / ${bare99} ms (${measured.pairsMs.length} pairs), ` +
        `${measured.requestsPerImage.toFixed(2)} requests and ${measured.cpuMsPerImage.toFixed(1)} ms of processor time per image`,
    )
  }
  const { images, seconds, limit } = load
  return {
    title: `${images.toLocaleString('en')} images of ${seconds} s, limit ${limit}`,
    method:
      `A new control plane for each run; the operator leads and waits; then ${images.toLocaleString('en')} images are created, 16 requests at a time` +
      `${load.spread > 1 ? `, over ${load.spread} namespaces` : ''}. ` +
      'Makespan: from the first create request to the last DataVolume that Succeeded. ' +
      'A bare client does, at most five times a second and at the moment when a slot becomes free, what the operator has to write then: it replaces a ConfigMap ' +
      'that is as large as the ledger, with its resourceVersion, and creates a DataVolume that nobody fills; from sending the first to the answer of the second.',
    figures: figuresOf(load, runs),
    tables: [
      requestTable(
        runs.map(({ requests }) => requests),
        { count: images, of: 'image' },
      ),
    ],
  }
}

async function oneRun({ images, seconds, limit, spread }: QueueLoad): Promise<QueueRun> {
  await using stage = await Stage.start({ policy: { concurrency: String(limit) }, spread })
  const simulators = await stage.startSimulators({ durationMs: seconds * 1_000 })
  const observer = await stage.observe()
  const yardstick = await stage.startYardstick(limit)
  const operator = await stage.startLeader()
  const atStart = await untilQuiet(operator)
  const cpuBefore = await Promise.all([operator.cpuSeconds(), simulators.cpuSeconds()])

  observer.onDownloadEnded(() => yardstick.slotFreed())
  const startedAt = systemClock.monotonic()
  const timeoutMs = ((3 * images * (seconds + 1)) / limit) * 1_000 + 120_000
  await Promise.all([
    stage.createImages('image', images),
    observer.until('every image has Succeeded', () => observer.countIn('Succeeded') === images, timeoutMs),
  ])
  const requests = await untilQuiet(operator)
  const [operatorCpu, simulatorsCpu] = await Promise.all([operator.cpuSeconds(), simulators.cpuSeconds()])
  return {
    ...timesOf(observer, startedAt, limit),
    pairsMs: await yardstick.pairsMs(),
    ...requestsOf(requests, atStart, observer, images),
    residentMb: (await operator.memory()).resident / 1e6,
    cpuMsPerImage: ((operatorCpu - (cpuBefore[0] ?? 0)) * 1_000) / images,
    simulatorsCpu: simulatorsCpu - (cpuBefore[1] ?? 0),
  }
}

function timesOf({ downloads, turns }: Observer, startedAt: number, limit: number) {
  const ideal = idealMs(downloads, limit)
  const makespan = Math.max(...downloads.map(({ endedAt }) => endedAt)) - startedAt
  return {
    ratio: makespan / ideal,
    makespanSeconds: makespan / 1_000,
    idealSeconds: ideal / 1_000,
    handOversMs: handOvers(downloads, turns, limit),
    inParallel: mostInParallel(downloads),
    inversions: inversions(downloads, turns),
  }
}

function requestsOf(all: Requests, atStart: Requests, { sideWrites }: Observer, images: number) {
  const requests = withoutRenewals(all)
  const aside = sideWrites.progress + sideWrites.positions
  return {
    requests,
    requestsPerImage: (total(requests) - aside) / images,
    progressWrites: sideWrites.progress,
    positionWrites: sideWrites.positions,
    leaseRequests: total(renewalsOfLease(all)),
    watchRenewals: total(renewalsOfWatches(all)),
    readsPerImage: total(readsIn(difference(requests, withoutRenewals(atStart)))) / images,
  }
}

/** How long a slot is empty. A bare client does the same writes under the same load, which shows what the machine can do. */
function handOverFigures(runs: readonly QueueRun[], older: OlderRun | undefined): Figure[] {
  const figuresAt = (name: 'p50' | 'p99', share: number, most: number): Figure[] => {
    const operator = runs.map(({ handOversMs }) => percentile(handOversMs, share))
    const bare = runs.map(({ pairsMs }) => percentile(pairsMs, share))
    const title = `slot free → next DataVolume created, ${name}`
    return [
      {
        title: `${title} / the same two writes of a bare client`,
        unit: '',
        digits: 2,
        values: quotients(operator, bare),
        target: atMost(most),
      },
      { title, unit: 'ms', digits: 1, values: operator, older: older?.[name] },
      { title: `the two writes of a bare client, ${name}`, unit: 'ms', digits: 1, values: bare },
    ]
  }
  const pairs = runs.map(({ pairsMs }) => pairsMs.length)
  return [
    ...figuresAt('p50', 0.5, 2),
    ...figuresAt('p99', 0.99, 4),
    { title: 'how often the bare client wrote them', unit: '', values: pairs },
  ]
}

function figuresOf({ limit, ratio, cpuMs, older }: QueueLoad, runs: readonly QueueRun[]): Figure[] {
  const figure = (title: string, of: (run: QueueRun) => number, more: Partial<Figure> = {}): Figure => ({
    title,
    unit: '',
    values: runs.map(of),
    ...more,
  })
  const seconds = { unit: 's', digits: 1 }
  const perImage = { unit: '1/image', digits: 2 }
  return [
    figure('makespan / ideal', (run) => run.ratio, { digits: 3, target: atMost(ratio), older: older?.ratio }),
    figure('makespan', (run) => run.makespanSeconds, seconds),
    figure("ideal: sum of the DataVolumes' lifetimes / limit", (run) => run.idealSeconds, seconds),
    ...handOverFigures(runs, older),
    figure('most in parallel', (run) => run.inParallel, { target: atMost(limit), older: older?.inParallel }),
    figure('inversions', (run) => run.inversions, { target: exactly(0), older: older?.inversions }),
    figure('API requests, start-up included', (run) => run.requestsPerImage, {
      ...perImage,
      target: atMost(12),
      older: older?.requests,
    }),
    figure('reads after start-up', (run) => run.readsPerImage, { ...perImage, target: exactly(0) }),
    figure('progress writes (apart)', (run) => run.progressWrites),
    figure('later queue positions (apart)', (run) => run.positionWrites),
    figure('watches renewed (apart)', (run) => run.watchRenewals),
    figure('requests for the Lease (apart)', (run) => run.leaseRequests),
    figure('resident memory at the end', (run) => run.residentMb, { unit: 'MB', digits: 1, older: older?.memory }),
    figure('processor time of the operator, user and system', (run) => run.cpuMsPerImage, {
      unit: 'ms/image',
      digits: 1,
      target: cpuMs === undefined ? undefined : atMost(cpuMs, 'ms'),
      older: older?.cpu,
    }),
    figure('processor time of the simulators', (run) => run.simulatorsCpu, seconds),
  ]
}
