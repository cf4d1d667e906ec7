import { expect, it } from 'vitest'
import { describeViolations } from '../oracle/oracle.ts'
import { isChosen } from '../schedule-suite.ts'
import { runStory } from '../story-run.ts'

// To run one of them again:
//
//   SIMULATION_SEED=… npm test -- --project simulation tenants

const FIRST = Number(process.env['SIMULATION_SEED'] ?? 1)

/** Of `npm test`. */
export const QUICK_TENANTS = 1

/** @param stories how many, less the first ones that another test runs */
export function tenantSuite(stories: number, after = 0): void {
  it('changes nothing for anybody else', async () => {
    for (let seed = FIRST + (isChosen ? 0 : after); seed < FIRST + stories; seed += 1) {
      const { violations, events } = await runStory({ kind: 'tenants', seed })
      expect(violations, `tenants:${seed}\n${describeViolations(violations)}`).toEqual([])
      expect(events.size).toBeGreaterThan(10)
    }
  })
}
