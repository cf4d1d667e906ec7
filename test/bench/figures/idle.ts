import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, type Chapter, exactly, RUNS } from '../figure.ts'
import { difference, total, untilQuiet, withoutRenewals, writesIn } from '../requests.ts'
import { Stage } from '../stage.ts'
import { stopwatch } from '../stopwatch.ts'

export const IDLE_MS = 60_000

/** Measures an operator that has nothing to do, on a cluster without images. */
export async function measureIdle(tell: (line: string) => void): Promise<Chapter> {
  const ready: number[] = []
  const resident: number[] = []
  const anonymous: number[] = []
  const writes: number[] = []
  const cpuMs: number[] = []
  await using stage = await Stage.start({ policy: { concurrency: '4' } })
  for (let run = 1; run <= RUNS; run += 1) {
    const passed = stopwatch()
    await using operator = await stage.startLeader()
    ready.push(passed())
    const before = await untilQuiet(operator)
    const cpuBefore = await operator.cpuSeconds()
    await sleep(IDLE_MS)
    writes.push(total(writesIn(withoutRenewals(difference(await operator.requests(), before)))))
    cpuMs.push(((await operator.cpuSeconds()) - cpuBefore) * 1_000)
    const memory = await operator.memory()
    resident.push(memory.resident / 1e6)
    anonymous.push(memory.anonymous / 1e6)
    tell(`run ${run}: leads after ${ready.at(-1)?.toFixed(2)} s, ${resident.at(-1)?.toFixed(1)} MB`)
  }
  return {
    title: 'Idle',
    method: `No images; ${IDLE_MS / 1_000} s from when the leader came to rest; a new process for each run. That it leads is asked for every 50 ms.`,
    figures: [
      { title: 'start of the process → leads', unit: 's', digits: 2, values: ready, target: atMost(1.5, 's') },
      { title: 'resident memory', unit: 'MB', digits: 1, values: resident, target: atMost(90, 'MB') },
      { title: 'of these, pages of no file', unit: 'MB', digits: 1, values: anonymous },
      { title: 'writes in a minute, the Lease aside', unit: '', values: writes, target: exactly(0) },
      { title: 'processor time in a minute', unit: 'ms', values: cpuMs },
    ],
  }
}
