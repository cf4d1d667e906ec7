import { hasPrivileged, podSecurityLevel, renderWorkspaceOwners } from '@open-terrain/constructs/operator'
import { ROLE_BINDING } from '../../../../kube/resource-types.ts'
import { type Component, componentReady } from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'
import { namespaceIdOf } from './namespace.ts'

const KIND = 'Owners'

/** The rights of those who work in the workspace. */
export const OWNERS_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: ROLE_BINDING, propagationPolicy: 'Background' }],
  children: (blueprint): Component[] => {
    const { workspace, spec, policy } = blueprint
    const { owners = [] } = spec
    if (owners.length === 0) return []
    const { allowPrivilegedExec } = policy
    // What the policy does not allow any more, or the spec does not ask for any more, may still run.
    const isPrivileged = hasPrivileged(spec) || blueprint.runsPrivileged === true
    const podSecurity = isPrivileged ? 'privileged' : podSecurityLevel(spec, policy)
    const binding = renderWorkspaceOwners({ workspace, owners, podSecurity, allowPrivilegedExec })
    return [{ kind: KIND, name: 'owners', objects: [binding], needs: [namespaceIdOf(blueprint)] }]
  },
  summary: (_world, { objects }) => {
    const [binding] = objects
    return { summary: componentReady(`the owners have the rights of ClusterRole ${binding?.metadata.name}`) }
  },
}
