import { systemClock } from '../../../operator/base/clock.ts'
import { atMost, type Figure, RUNS } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { untilQuiet } from '../requests.ts'
import type { Stage } from '../stage.ts'
import { quotients } from '../statistics.ts'

/** Free slots for each cold start. No other start uses them. */
const SLOTS = 10

/** The consecutive parts of one cold start, in seconds. */
export interface ColdStart {
  /** Node loads and compiles the program. */
  readonly loading: number
  /** The caches are filled, and the Lease is won. */
  readonly filling: number
  /** From the Lease to the first DataVolume. */
  readonly admitting: number
  /** A bare client reads the same objects, right before. */
  readonly bare: number
}

export const COLD_START_METHOD =
  `Cold start: a new process finds ${SLOTS} free slots and images that have waited since an earlier process. It counts from when the program is loaded, to the first ` +
  'DataVolume: the caches fill, the Lease is won, an image is admitted. Right before, another new process reads the same objects with the same HTTP client, in the way ' +
  'of the reflectors: a watch for each kind that begins with what exists, all kinds at the same time; the JSON is parsed and dropped. It runs with the settings that Node ' +
  'comes with, the operator with those that keep its heap small.'

/** One process queues images while the queue is paused. Then other processes start and find free slots. */
export async function coldStarts(
  stage: Stage,
  tell: (line: string) => void,
  images = RUNS * SLOTS,
): Promise<ColdStart[]> {
  const observer = await stage.observe()
  await stage.setPolicy({ concurrency: '0' })
  {
    await using operator = await stage.startLeader('first')
    await stage.createImages('waiting', images)
    await observer.until('all are queued', () => observer.turns.size >= images)
    await untilQuiet(operator)
  }
  tell('queued')
  const starts: ColdStart[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    // Nothing downloads here: the slots of earlier runs stay taken.
    await stage.setPolicy({ concurrency: String(run * SLOTS) })
    const { seconds: bare, objects } = await stage.readBare()
    const start = { ...(await oneColdStart(stage, observer)), bare }
    starts.push(start)
    tell(`cold start ${run}, ${objects} objects: ${JSON.stringify(start)}`)
  }
  return starts
}

export function coldStartFigures(starts: readonly ColdStart[]): Figure[] {
  const each = (of: (start: ColdStart) => number) => starts.map(of)
  const bare = each((start) => start.bare)
  const working = each(({ filling, admitting }) => filling + admitting)
  const seconds = (title: string, values: readonly number[]): Figure => ({ title, unit: 's', digits: 2, values })
  return [
    {
      title: 'cold start → first admission / a bare client reads the same',
      unit: '',
      digits: 2,
      values: quotients(working, bare),
      target: atMost(1.3),
    },
    seconds('cold start → first admission', working),
    seconds(
      'of these, until the caches are filled and the Lease is won',
      each(({ filling }) => filling),
    ),
    seconds(
      'of these, from the Lease to the first DataVolume',
      each(({ admitting }) => admitting),
    ),
    seconds('a bare client reads the same', bare),
    seconds(
      'before that, the program is loaded',
      each(({ loading }) => loading),
    ),
  ]
}

async function oneColdStart(stage: Stage, observer: Observer): Promise<Omit<ColdStart, 'bare'>> {
  const before = observer.created.length
  const startedAt = systemClock.monotonic()
  await using operator = await stage.startOperator()
  const first = await observer.until('an image is admitted', () => observer.created[before])
  await observer.until('all slots are taken', () => observer.created.length === before + SLOTS)
  const loadedAt = operator.loggedAt('starting')
  const ledAt = operator.loggedAt('leading')
  return {
    loading: (loadedAt - startedAt) / 1_000,
    filling: (ledAt - loadedAt) / 1_000,
    admitting: (first.createdAt - ledAt) / 1_000,
  }
}
