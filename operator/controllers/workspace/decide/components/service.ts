import {
  type Policy,
  renderExposedMember,
  serviceTypeOf,
  serviceWarnings,
  type WorkspaceService,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../../base/messages.ts'
import { SERVICE } from '../../../../kube/resource-types.ts'
import type { ServiceView } from '../../child-views.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  idOf,
  withWarnings,
} from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Service'
/** Ports, or addresses, that a message names. More are only counted. */
const SHOWN_MAX = 4

/** Ports of members that are open to others. Each is a Service, and the NetworkPolicy that lets it through. */
export const SERVICE_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: SERVICE, propagationPolicy: 'Background' }],
  children: ({ workspace, spec, policy }) =>
    (spec.services ?? []).map(
      (service): Component => ({
        kind: KIND,
        name: service.name,
        objects: renderExposedMember({ workspace, spec, service }),
        needs: [],
        ...withWarnings(serviceWarnings(spec, service)),
        ...heldByTypes(service, policy),
      }),
    ),
  summary: (world, { name }) => ({ summary: judgeService(world, name) }),
}

/** A Service whose type the policy does not allow is not created, and not changed if it was created before. */
function heldByTypes(service: WorkspaceService, { allowedServiceTypes }: Policy): Pick<Component, 'held'> {
  const type = serviceTypeOf(service)
  if (allowedServiceTypes.includes(type)) return {}
  const { name } = service
  const absent = componentFailed(
    'ServiceTypeNotAllowed',
    `service ${name} is of type ${type}, which the policy key allowedServiceTypes does not name: give it another type, or have the policy allow it`,
  )
  const message = `${absent.message}; one of that name exists and stays as it is: remove it from spec.services to close its ports`
  return { held: { absent, present: { ...absent, message } } }
}

interface ServiceSpec {
  readonly type?: string
  readonly ports?: readonly { readonly port: number; readonly protocol?: string; readonly nodePort?: number }[]
}

function judgeService({ children, workspace }: WorkspaceWorld, name: string): ComponentSummary {
  const { spec, ingress } = children.get(idOf(SERVICE.kind, name)) as ServiceView
  const { type, ports = [] } = spec as ServiceSpec
  const given = firstFew(
    ports.map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`),
    SHOWN_MAX,
  )
  const within = `${name}.${workspace.metadata.name}.svc`
  if (type === 'NodePort') {
    const opened = ports.map(({ port, protocol = 'TCP', nodePort = 0 }) => `${nodePort} for ${port}/${protocol}`)
    return componentReady(`reached at every node, port ${firstFew(opened, SHOWN_MAX)}, and at ${within}`)
  }
  if (type !== 'LoadBalancer') return componentReady(`reached by pods of the cluster at ${within}, port ${given}`)
  if (ingress.length === 0)
    return componentWaiting(
      'LoadBalancerPending',
      `waits until a load balancer of the cluster has an address for Service ${name}; until then it is reached at ${within}, port ${given}`,
    )
  return componentReady(`reached at ${firstFew(ingress, SHOWN_MAX)}, port ${given}, and at ${within}`)
}
