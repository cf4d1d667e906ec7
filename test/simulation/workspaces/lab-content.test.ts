import { parseWorkspaceSpec, renderClusterHosts } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { scheduleOf, storyOf } from '../story.ts'
import { hostsIn } from './lab-content.ts'
import { labOf, specOf } from './labs.ts'

const SEEDS = Array.from({ length: 300 }, (_, at) => at + 1)

// A schedule compares them at its end only, with the few labs that it ends with. A host name is the name of a machine without an address in one lab of hundreds.
it('the files of random labs have the names that the oracle wants', () => {
  const kinds = ['workspaces', 'workspacesPlayed'] as const
  const wrong = kinds.flatMap((kind) =>
    SEEDS.flatMap((seed) => {
      const schedule = scheduleOf(storyOf(`${kind}:${seed}`))
      return (schedule.workspaces ?? []).flatMap((plan, number) => wrongIn(specOf(labOf(plan, number), schedule)))
    }),
  )
  expect(wrong).toEqual([])
})

function wrongIn(input: unknown): string[] {
  const parsed = parseWorkspaceSpec(input)
  if (!parsed.ok) return []
  const { spec } = parsed
  const lab = { name: 'lab', uid: 'lab' }
  const files = (spec.containerClusters ?? []).flatMap((cluster) =>
    renderClusterHosts({ workspace: lab, spec, cluster }),
  )
  return files.flatMap((one) => hostsIn({ spec }, new Set(), one))
}
