import { expect, it } from 'vitest'
import { describeViolations } from '../oracle/oracle.ts'
import { isChosen } from '../schedule-suite.ts'
import { runGate } from './gate-run.ts'
import { GATE_KINDS, gateStory } from './gate-story.ts'

// Stories of the gate alone: the real admission, ledger, claims, queue and caches. A failure names its story:
//
//   npm run simulate -- --replay gate:…

/** First seed. It is fixed by default, so that only changes of the code change the result. `npm run simulate` starts from any seed. */
const FIRST = Number(process.env['SIMULATION_SEED'] ?? 1)

/** Of each kind, in `npm test`. */
export const QUICK_GATES = 1

/** @param stories how many of each kind, less the first ones that another test runs */
export function gateSuite(stories: number, after = 0): void {
  const skipped = isChosen ? 0 : after
  it.each(GATE_KINDS)('in stories of the kind %s', async (kind) => {
    let admissions = 0
    for (let seed = FIRST + skipped; seed < FIRST + stories; seed += 1) {
      const { violations, counts } = await runGate(gateStory(kind, seed))
      expect(violations, `${kind}:${seed}\n${describeViolations(violations)}`).toEqual([])
      admissions += counts.admissions
    }
    expect(admissions).toBeGreaterThan((stories - skipped) * 10)
  })
}
