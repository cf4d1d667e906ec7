import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, type Chapter, exactly, RUNS } from '../figure.ts'
import { difference, total, untilQuiet, withoutRenewals, writesIn } from '../requests.ts'
import { Stage } from '../stage.ts'
import { stopwatch } from '../stopwatch.ts'
import { storeFinishedImages } from '../stored-images.ts'
import { COLD_START_METHOD, coldStartFigures, coldStarts } from './cold-start.ts'
import { IDLE_MS } from './idle.ts'

const IMAGES = 10_000
const SPREAD = 8

/** Measures the operator with 10,000 finished images and their children. */
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
    const passed = stopwatch()
    await using operator = await stage.startLeader()
    ready.push(passed())
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
      `others are copies of what it left. A new process for each run; ${IDLE_MS / 1_000} s after it came to rest. It has nothing to write. ` +
      `For the cold starts there is a queue behind the finished images. ${COLD_START_METHOD}`,
    figures: [
      { title: 'resident memory', unit: 'MB', digits: 1, values: resident, target: atMost(160, 'MB') },
      { title: 'of these, pages of no file', unit: 'MB', digits: 1, values: anonymous },
      { title: 'the most that was resident', unit: 'MB', digits: 1, values: peaks },
      { title: 'writes from start to end, the Lease aside', unit: '', values: writes, target: exactly(0) },
      { title: 'start of the process → leads', unit: 's', digits: 2, values: ready },
      ...coldStartFigures(starts),
    ],
  }
}

/** Measures the operator with a queue of 10,000 images. */
export async function measureQueued(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: '0' }, spread: SPREAD })
  const starts = await coldStarts(stage, tell, IMAGES)
  return {
    title: '10,000 queued images',
    method:
      'All have their ticket and finalizer from an earlier process; the queue was paused meanwhile. A new process for each run. ' +
      COLD_START_METHOD,
    figures: coldStartFigures(starts),
  }
}
