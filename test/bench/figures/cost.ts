import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, type Chapter } from '../figure.ts'
import { Stage } from '../stage.ts'

const SIZE_BYTES = 1024 ** 3
const RETRIES = 2
/** A failed container is restarted after 10 s. */
const LONGER_THAN_A_RESTART_MS = 15_000

/** Measures the cost of a source that breaks off halfway, every time, with an importer that is restarted forever. */
export async function measureCost(tell: (line: string) => void): Promise<Chapter> {
  const once = await bytesWith(0)
  const all = await bytesWith(RETRIES)
  const ratio = all / ((1 + RETRIES) * once)
  tell(`${once} bytes for one attempt, ${all} for ${1 + RETRIES}: ratio ${ratio.toFixed(3)}`)
  return {
    title: 'Bytes downloaded from a source that always fails',
    method:
      `Each download of a ${SIZE_BYTES / 1024 ** 3} GiB image breaks off half-way, and the simulated CDI starts it again, from byte 0, until it is stopped. One attempt: ` +
      `the same with \`retryLimit: "0"\`. Bytes are what the importers fetched until the image was \`Failed\`, and in the 15 s after.`,
    figures: [
      {
        title: `bytes with retryLimit ${RETRIES} / (${1 + RETRIES} × one attempt)`,
        unit: '',
        digits: 3,
        values: [ratio],
        target: atMost(1),
      },
      { title: 'bytes of one attempt', unit: 'MB', digits: 1, values: [once / 1e6] },
    ],
  }
}

/** Measures until the image has failed, and a while longer: by then, an importer that was not stopped would have been restarted. */
async function bytesWith(retryLimit: number): Promise<number> {
  const policy = { concurrency: '4', retryLimit: String(retryLimit), retryBackoffDuration: '1s', retryBackoffMax: '2s' }
  await using stage = await Stage.start({ policy })
  const failing = { namePrefix: 'broken', afterBytes: SIZE_BYTES / 2 }
  const simulators = await stage.startSimulators({ sizeBytes: SIZE_BYTES, failing })
  const observer = await stage.observe()
  await stage.startLeader()
  await stage.createImages('broken', 1)
  await observer.until('the image has failed', () => observer.countIn('Failed') === 1)
  await sleep(LONGER_THAN_A_RESTART_MS)
  return (await simulators.egress()).bytes
}
