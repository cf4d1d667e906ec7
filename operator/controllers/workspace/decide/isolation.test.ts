import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed } from '../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from './plan.ts'

type Nodes = Readonly<Record<string, boolean | undefined>>

/** Returns the condition about isolation of a workspace whose members are on these nodes. */
function conditionOf(nodes: Nodes, policy: object = {}, spec: object = DEPLOYED) {
  const planned = new PlannedWorld(parsed(spec))
  planned.policy = { ...planned.policy, ...policy }
  for (const [node, has] of Object.entries(nodes)) planned.nodes.set(node, has)
  const { conditions = [] } = planWorkspace(planned.world, NOW).status
  const { status, reason, message } = conditions.find(({ type }) => type === 'NetworksIsolated') ?? {}
  return status === undefined ? undefined : [status, reason, message]
}

describe('the condition NetworksIsolated', () => {
  it.each<[what: string, nodes: Nodes, policy: object, status: string, reason: string, says: RegExp]>([
    ['every node has the rules', { a: true, b: true }, {}, 'True', 'NodeIsolated', /^a, b has/],
    ['one node lacks them', { a: true, b: false, c: undefined }, {}, 'False', 'NodeNotIsolated', /reach b over/],
    ['of one node nothing is known', { a: true, b: undefined }, {}, 'Unknown', 'IsolationUnknown', /may reach b over/],
    ['no member runs', {}, {}, 'Unknown', 'IsolationUnknown', /no member/],
    [
      'the driver is another one',
      { a: true },
      { networkDriver: 'ovn-layer2' },
      'Unknown',
      'IsolationUnknown',
      /ovn-layer2/,
    ],
  ])('is right where %s', (_what, nodes, policy, status, reason, says) => {
    expect(conditionOf(nodes, policy)).toEqual([status, reason, expect.stringMatching(says)])
  })

  it('is absent where there are no networks', () => {
    const containerClusters = [{ name: 'app', containers: [{ name: 'c', image: 'registry.example/app:1' }] }]
    expect(conditionOf({ a: true }, {}, { containerClusters })).toBeUndefined()
  })
})
