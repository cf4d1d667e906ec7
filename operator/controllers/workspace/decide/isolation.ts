import type { WORKSPACE_CONDITION_RULES, WorkspaceReason } from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import type { SayingOf } from '../../../runtime/conditions.ts'
import type { WorkspaceWorld } from '../world.ts'

/** Nodes that a message names. More are only counted. */
const SHOWN_MAX = 3

type Isolation = SayingOf<typeof WORKSPACE_CONDITION_RULES.NetworksIsolated, WorkspaceReason>

/**
 * Returns whether members reach their node over the networks of the workspace, or undefined if it has no networks. It is True only where the pods that
 * load and check the rules of the nodes say so.
 */
export function isolationCondition({ spec, policy, nodes }: WorkspaceWorld): Isolation | undefined {
  if (!spec.ok || (spec.spec.networks ?? []).length === 0) return undefined
  const isolated = (status: Isolation['status'], reason: Isolation['reason'], message: string) => {
    return { status, reason, message }
  }
  if (policy.networkDriver !== 'bridge')
    return isolated('Unknown', 'IsolationUnknown', `networks of the driver ${policy.networkDriver} are not checked`)
  const are = (state: boolean | undefined) => [...nodes].filter(([, has]) => has === state).map(([node]) => node)
  const [open, unknown] = [are(false), are(undefined)]
  if (open.length > 0)
    return isolated(
      'False',
      'NodeNotIsolated',
      `members reach ${firstFew(open, SHOWN_MAX)} over the networks: its pod of open-terrain-lab-isolation is not ready`,
    )
  if (unknown.length > 0)
    return isolated(
      'Unknown',
      'IsolationUnknown',
      `members may reach ${firstFew(unknown, SHOWN_MAX)} over the networks: nothing there shows that the rules of labIsolation are loaded`,
    )
  if (nodes.size === 0) return isolated('Unknown', 'IsolationUnknown', 'no member of the workspace runs on a node yet')
  return isolated('True', 'NodeIsolated', `${firstFew([...nodes.keys()], SHOWN_MAX)} has the rules of labIsolation`)
}
