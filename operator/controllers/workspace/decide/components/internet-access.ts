import { asksForInternet, INTERNET_POLICY, renderWorkspaceInternetAccess } from '@open-terrain/constructs/operator'
import type { Raw } from '../../../../kube/kube-object.ts'
import { NETWORK_POLICY } from '../../../../kube/resource-types.ts'
import { type Removal, removalOf } from '../../../../runtime/plan.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  idOf,
} from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'InternetAccess'

const UNREAD = 'the ranges of Services, pods and nodes could not be read'
const UNTIL_RANGES_ARE_READ = {
  absent: componentWaiting('Provisioning', `${UNREAD}: they are read again, and the access comes after that`),
  present: componentReady(`NetworkPolicy ${INTERNET_POLICY} stays as it is, because ${UNREAD}: they are read again`),
}

/**
 * Access of the members to public addresses: one NetworkPolicy, among those of the namespace. Members do not wait for it. Unlike what runs, it goes when
 * the policy does not allow it any more: that ends nothing but the access.
 */
export const INTERNET_ACCESS_KIND: ComponentKind = {
  kind: KIND,
  // Its only object is one of the namespace's, which are deleted last.
  types: [],
  children: ({ workspace, spec, policy, clusterRanges = [] }): Component[] => {
    if (!asksForInternet(spec)) return []
    const { allowInternetAccess, clusterCidrs = [], internetDeniedCidrs } = policy
    const component = { kind: KIND, name: 'internet', needs: [] }
    if (!allowInternetAccess) return [{ ...component, objects: [] }]
    const shown = clusterRanges === 'unknown' ? [] : clusterRanges
    const deniedCidrs = [...internetDeniedCidrs, ...clusterCidrs, ...shown]
    const objects = [renderWorkspaceInternetAccess({ workspace, deniedCidrs })]
    // Without the ranges of the cluster, a change could open them.
    return [{ ...component, objects, ...(clusterRanges === 'unknown' && { held: UNTIL_RANGES_ARE_READ }) }]
  },
  summary: ({ policy }, { objects }) => {
    if (!policy.allowInternetAccess)
      return refused(
        'the policy key allowInternetAccess is false: remove internetAccess, or have the policy allow it; the members run without it',
      )
    if (!objects.some(isOpening))
      return refused(
        'the policy keys internetDeniedCidrs and clusterCidrs leave no public address: remove internetAccess, or have a range taken out of them',
      )
    const message = `NetworkPolicy ${INTERNET_POLICY} lets members on the pod network send to public addresses`
    return { summary: componentReady(message) }
  },
}

function refused(why: string): { readonly summary: ComponentSummary } {
  return { summary: componentFailed('InternetAccessNotAllowed', `internetAccess is Enabled, and ${why}`) }
}

function isOpening({ spec }: Raw): boolean {
  return Array.isArray(spec?.egress) && spec.egress.length > 0
}

/**
 * Returns the removal of access that the policy does not allow any more, or that the spec does not ask for. It goes whatever else the spec says, also
 * while that cannot be used, and before a status is written, which may be refused.
 */
export function withdrawnInternet({
  children,
  policy,
  workspace,
}: Pick<WorkspaceWorld, 'children' | 'policy' | 'workspace'>): Removal[] {
  const existing = children.get(idOf(NETWORK_POLICY.kind, INTERNET_POLICY))
  if (policy.allowInternetAccess && mayAsk(workspace)) return []
  return removalOf(existing).map((one) => ({ ...one, isFirst: true }))
}

/** Of a spec that was cut, it is not known. */
function mayAsk({ spec, isCut, isAside }: WorkspaceWorld['workspace']): boolean {
  if (isCut === true || isAside === true || typeof spec !== 'object' || spec === null) return true
  return (spec as { readonly internetAccess?: unknown }).internetAccess === 'Enabled'
}
