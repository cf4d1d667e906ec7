import { Construct, type IConstruct } from 'constructs'
import { requireProps } from './given-values.ts'
import { keepInside, type PartInside } from './inside.ts'
import { idOfPart, joinLab, requireLab, requireOwn } from './lab-part.ts'
import type { WorkspaceServicePortProps, WorkspaceServiceProps } from './spec-props.ts'

/** Ports of a member that are reached from outside of the lab. */
export interface LabServiceProps {
  /** Who answers. A machine must be on the pod network. */
  readonly member: { readonly memberName: string }
  /** Ports of the Service: a number for TCP, such as 80, or all of a port. Only these are opened. */
  readonly ports: readonly (number | WorkspaceServicePortProps)[]
  /** Who reaches it. The policy key allowedServiceTypes must name it. Default: ClusterIP, pods of the cluster. */
  readonly type?: WorkspaceServiceProps['type']
}

/**
 * A Service of a lab. Made by `Workspace.addService`, or in a construct below the lab.
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const wiki = lab.addContainers('wiki').add('wiki', { image: 'registry.example.com/wiki:3' })
 * const service = lab.addService('wiki', { member: wiki, ports: [80] })
 * service.hostName // wiki.redblue.svc
 * ```
 */
export class LabService extends Construct {
  /** Name of the Service in the namespace of the lab. */
  readonly serviceName: string
  /** Name by which pods of the cluster reach it, such as wiki.redblue.svc. */
  readonly hostName: string
  readonly #props: LabServiceProps

  constructor(scope: Construct, serviceName: string, props: LabServiceProps) {
    super(scope, idOfPart(scope, 'services', serviceName, new.target))
    requireProps(this, props, '{ member: web, ports: [80] }')
    requireOwn(this, 'member', props.member)
    const lab = requireLab(this) as IConstruct & { readonly name: string }
    this.serviceName = serviceName
    this.hostName = `${serviceName}.${lab.name}.svc`
    this.#props = props
    const inside: PartInside = { toSpec: () => this.#toSpec() }
    keepInside(this, inside)
    joinLab(this, 'services', new.target)
  }

  #toSpec(): object {
    const { member, ports, type } = this.#props
    const given = Array.isArray(ports) ? ports.map((port) => (typeof port === 'number' ? { port } : port)) : ports
    return { name: this.serviceName, member: member?.memberName, ports: given, ...(type !== undefined && { type }) }
  }
}
