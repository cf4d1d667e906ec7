import { renderWorkspaceNetwork } from '@open-terrain/constructs'
import { NETWORK_ATTACHMENT_DEFINITION } from '../../../../kube/resource-types.ts'
import { type Component, componentReady, idOf } from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Network'

/** The networks, as Multus reads them. Nothing shows whether a plug-in can create one, except the pods that use it. */
export const NETWORK_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: NETWORK_ATTACHMENT_DEFINITION, propagationPolicy: 'Background' }],
  children: ({ workspace, spec, policy }) =>
    (spec.networks ?? []).map(
      (network): Component => ({
        kind: KIND,
        name: network.name,
        objects: renderWorkspaceNetwork({ workspace, spec, network, driver: policy.networkDriver }),
        needs: [],
      }),
    ),
  standing: (_world, { name }) => ({ standing: componentReady(`network ${name} can be used`) }),
}

/** Returns the ids of the networks that these interfaces are on. */
export function networkIds(interfaces: readonly { readonly network: string }[] = []): string[] {
  return interfaces.map(({ network }) => idOf(KIND, network))
}
