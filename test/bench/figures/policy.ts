import { systemClock } from '../../../operator/base/clock.ts'
import { atMost, type Chapter } from '../figure.ts'
import { Stage } from '../stage.ts'
import { percentile } from '../statistics.ts'

const CHANGES = 60

/** Measures the time from the request that changes the limit in the policy to the ledger write with that limit. */
export async function measurePolicy(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: '4' } })
  const observer = await stage.observe()
  await stage.startLeader()
  await observer.until('there is a ledger', () => observer.ledger.length > 0)
  const latencies: number[] = []
  for (let change = 1; change <= CHANGES; change += 1) {
    // Each value is new, so an earlier write cannot be mistaken for this one.
    const limit = 10 + change
    const sentAt = systemClock.monotonic()
    await stage.setPolicy({ concurrency: String(limit) })
    const inForce = () => observer.ledger.find((write) => write.limit === limit)
    latencies.push((await observer.until('the change is in force', inForce)).at - sentAt)
  }
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(latencies, share))
  tell(`p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms`)
  return {
    title: 'Policy change → in force',
    method: `${CHANGES} changes of \`concurrency\`, one after the other; from sending the change to the watch event of the ledger that has the new limit.`,
    figures: [
      { title: 'p50', unit: 'ms', digits: 1, values: [p50 ?? Number.NaN] },
      { title: 'p99', unit: 'ms', digits: 1, values: [p99 ?? Number.NaN], target: atMost(1_000, 'ms') },
    ],
  }
}
