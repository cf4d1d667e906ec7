import {
  podSecurityLevel,
  renderWorkspaceNamespace,
  renderWorkspaceNetworkPolicies,
  renderWorkspaceQuota,
} from '@open-terrain/constructs/operator'
import { NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA } from '../../../../kube/resource-types.ts'
import { type Blueprint, type Component, componentFailed, componentReady, idOf } from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Namespace'

/** The namespace with its isolation and its limits. Nothing else is created in it before all of them exist. */
export const NAMESPACE_KIND: ComponentKind = {
  kind: KIND,
  isGround: true,
  types: [
    { type: NAMESPACE, propagationPolicy: 'Background' },
    { type: NETWORK_POLICY, propagationPolicy: 'Background' },
    { type: RESOURCE_QUOTA, propagationPolicy: 'Background' },
  ],
  children: (blueprint): Component[] => [
    {
      kind: KIND,
      name: blueprint.workspace.name,
      objects: objectsOf(blueprint),
      needs: [],
      ...heldForImages(blueprint),
    },
  ],
  summary: (_world, { name }) => ({ summary: componentReady(`namespace ${name} is there, and isolated`) }),
}

export function namespaceIdOf({ workspace }: Pick<Blueprint, 'workspace'>): string {
  return idOf(KIND, workspace.name)
}

/** A workspace with the name of the image namespace would delete all images when it is deleted. */
function heldForImages({ workspace, policy }: Blueprint): Pick<Component, 'held'> {
  if (workspace.name !== policy.imageNamespace) return {}
  const taken = componentFailed(
    'NameConflict',
    `namespace ${workspace.name} is that of the images (policy key imageNamespace): give the workspace another name`,
  )
  return { held: { absent: taken, present: taken } }
}

function objectsOf({ workspace, spec, policy }: Blueprint): Component['objects'] {
  const { imageNamespace } = policy
  const { workspaceQuota, ...allowed } = policy
  return [
    renderWorkspaceNamespace({ workspace, podSecurity: podSecurityLevel(spec, allowed) }),
    ...renderWorkspaceNetworkPolicies({ workspace, containerClusters: spec.containerClusters ?? [], imageNamespace }),
    ...(workspaceQuota === undefined ? [] : [renderWorkspaceQuota({ workspace, hard: workspaceQuota })]),
  ]
}
