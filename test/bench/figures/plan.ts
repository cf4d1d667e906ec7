import { systemClock } from '../../../operator/base/clock.ts'
import { planWorkspace } from '../../../operator/controllers/workspace/decide/plan.ts'
import { PROPOSED_WORKSPACE } from '../../prepared/api/proposed-workspace.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../prepared/workspace/workspace-world.ts'
import { atMost, type Chapter, RUNS } from '../figure.ts'
import { median } from '../statistics.ts'

const WARM_UP = 200
const PLANS = 2_000

/** Measures the time to plan the proposal's workspace, in this process and without requests. */
export async function measurePlan(tell: (line: string) => void): Promise<Chapter> {
  const settled = settledWorld(PROPOSED_WORKSPACE.spec)
  const atRest: number[] = []
  const ofNewSpec: number[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    atRest.push(medianOf(() => planWorkspace(settled.world, NOW)))
    ofNewSpec.push(
      medianOf(() => planWorkspace(new PlannedWorld(parsed(structuredClone(PROPOSED_WORKSPACE.spec))).world, NOW)),
    )
    tell(
      `plan() in run ${run}: ${atRest.at(-1)?.toFixed(3)} ms at rest, ${ofNewSpec.at(-1)?.toFixed(3)} ms with a spec that is new`,
    )
  }
  const figure = { unit: 'ms', digits: 2, target: atMost(2, 'ms') }
  return {
    title: 'Deciding about a workspace',
    method:
      `The median of ${PLANS.toLocaleString('en')} calls of \`plan()\` for the workspace of the proposal, after ${WARM_UP} that do not count. At rest: everything exists, and is as it should be; ` +
      'what was rendered once is kept. With a spec that is new, it is parsed and all children are rendered first.',
    figures: [
      { title: 'plan() at rest', values: atRest, ...figure },
      { title: 'plan() with a spec that is new, parsing and rendering included', values: ofNewSpec, ...figure },
    ],
  }
}

function medianOf(work: () => unknown): number {
  for (let at = 0; at < WARM_UP; at += 1) work()
  const times = Array.from({ length: PLANS }, () => {
    const startedAt = systemClock.monotonic()
    work()
    return systemClock.monotonic() - startedAt
  })
  return median(times)
}
