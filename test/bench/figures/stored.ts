import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../operator/runtime/clock.ts'
import { atMost, type Chapter, exactly } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { difference, total, untilQuiet, withoutRenewals, writesIn } from '../requests.ts'
import { Stage } from '../stage.ts'
import { storeFinishedImages } from '../stored-images.ts'
import { IDLE_MS } from './idle.ts'

const IMAGES = 10_000
const SPREAD = 8
const RUNS = 3
/** Slots that each cold start finds free, and nobody else. */
const SLOTS = 10
const TIMEOUT_MS = 600_000
const SECOND_MS = 1_000

/** The operator over 10,000 finished images and their children. */
export async function measureStored(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: '4' }, spread: SPREAD })
  await storeFinishedImages(stage, IMAGES)
  tell('stored')
  const resident: number[] = []
  const anonymous: number[] = []
  const peaks: number[] = []
  const writes: number[] = []
  const ready: number[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    const startedAt = systemClock.monotonic()
    await using operator = await stage.startOperator()
    await operator.untilLeading()
    ready.push((systemClock.monotonic() - startedAt) / SECOND_MS)
    const atRest = await untilQuiet(operator)
    await sleep(IDLE_MS)
    const memory = await operator.memory()
    resident.push(memory.resident / 1e6)
    anonymous.push(memory.anonymous / 1e6)
    peaks.push(memory.peak / 1e6)
    const written = writesIn(withoutRenewals(await operator.requests()))
    writes.push(total(written))
    tell(`run ${run}: ${resident.at(-1)?.toFixed(1)} MB, writes since start: ${JSON.stringify([...written])}`)
    if (total(difference(writesIn(withoutRenewals(await operator.requests())), writesIn(atRest))) > 0)
      tell('it wrote while idle')
  }
  const starts = await coldStarts(stage, tell)
  return {
    title: '10,000 finished images with their children',
    method:
      `10,000 images that are Succeeded, each with its DataVolume, claim, snapshot and DataSource (${(IMAGES * 5).toLocaleString('en')} objects in ${SPREAD} namespaces): one was synced by the operator, the ` +
      `others are copies of what it left. A new process for each run; ${IDLE_MS / SECOND_MS} s after it came to rest. It has nothing to write. ` +
      'Cold start: with a queue behind the finished images; from the start of the process to the first DataVolume.',
    figures: [
      { title: 'resident memory', unit: 'MB', digits: 1, values: resident, target: atMost(160, 'MB') },
      { title: 'of these, pages of no file', unit: 'MB', digits: 1, values: anonymous },
      { title: 'the most that was resident', unit: 'MB', digits: 1, values: peaks },
      { title: 'writes from start to end, the Lease aside', unit: '', values: writes, target: exactly(0) },
      { title: 'cold start → leads', unit: 's', digits: 2, values: ready },
      { title: 'cold start → first admission', unit: 's', digits: 2, values: starts, target: atMost(5, 's') },
    ],
  }
}

/** The operator over a queue of 10,000 images. */
export async function measureQueued(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: '0' }, spread: SPREAD })
  const starts = await coldStarts(stage, tell, IMAGES)
  return {
    title: '10,000 queued images',
    method:
      'All have their ticket and finalizer from an earlier process; the queue was paused meanwhile. A new process for each run, which finds ' +
      `${SLOTS} free slots; from its start to the first DataVolume.`,
    figures: [{ title: 'cold start → first admission', unit: 's', digits: 2, values: starts, target: atMost(5, 's') }],
  }
}

/** Lets one process queue images while the queue is paused; then starts others that find free slots. Seconds. */
async function coldStarts(stage: Stage, tell: (line: string) => void, images = RUNS * SLOTS): Promise<number[]> {
  const observer = await stage.observe()
  await stage.setPolicy({ concurrency: '0' })
  {
    await using operator = await stage.startOperator('first')
    await operator.untilLeading()
    await stage.createImages('waiting', images)
    await observer.until('all are queued', () => observer.turns.size >= images, TIMEOUT_MS)
    await untilQuiet(operator)
  }
  tell('queued')
  const starts: number[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    // Nobody downloads here: the slots of earlier runs stay taken.
    await stage.setPolicy({ concurrency: String(run * SLOTS) })
    starts.push(await oneColdStart(stage, observer))
    tell(`cold start ${run}: ${starts.at(-1)?.toFixed(2)} s`)
  }
  return starts
}

async function oneColdStart(stage: Stage, observer: Observer): Promise<number> {
  const before = observer.created.length
  const startedAt = systemClock.monotonic()
  await using _operator = await stage.startOperator()
  const first = await observer.until('an image is admitted', () => observer.created[before], TIMEOUT_MS)
  await observer.until('all slots are taken', () => observer.created.length === before + SLOTS, TIMEOUT_MS)
  return (first.createdAt - startedAt) / SECOND_MS
}
