import { describe, expect, it } from 'vitest'
import { describeViolations } from '../oracle/oracle.ts'
import { runStory } from '../story-run.ts'

// To run one of them again:
//
//   SIMULATION_SEED=… npm test -- --project simulation tenants

const STORIES = Number(process.env['SIMULATION_SCALE'] ?? 1) * 3
const FIRST = Number(process.env['SIMULATION_SEED'] ?? 1)

describe('a tenant who forges at random', () => {
  it('changes nothing for anybody else', async () => {
    for (let seed = FIRST; seed < FIRST + STORIES; seed += 1) {
      const { violations, events } = await runStory({ kind: 'tenants', seed })
      expect(violations, `tenants:${seed}\n${describeViolations(violations)}`).toEqual([])
      expect(events.size).toBeGreaterThan(10)
    }
  }, 300_000)
})
