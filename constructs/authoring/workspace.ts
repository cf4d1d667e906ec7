import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct, IConstruct } from 'constructs'
import { dnsLabel } from '../api/shared.ts'
import type { SpecProblem } from '../api/spec-problem.ts'
import { parseWorkspaceSpec, type WorkspaceSpec, workspace } from '../api/workspace.ts'
import { AuthoredObject } from './checked-spec.ts'
import { LabContainers, type LabContainersProps } from './lab-containers.ts'
import { LabNetwork, type LabNetworkProps } from './lab-network.ts'
import { labProblems } from './lab-problems.ts'
import { type AuthorsWords, labRemarks } from './lab-remarks.ts'
import { LabSecret, type LabSecretProps } from './lab-secret.ts'
import { LabVm, type LabVmProps } from './lab-vm.ts'
import { type LabMount, LabVolume, type LabVolumeProps } from './lab-volume.ts'
import { type SpecPatch, withPatch } from './merge-patch.ts'
import type { AuthoredImage } from './node-problems.ts'
import type { WorkspaceServicePortProps, WorkspaceServiceProps, WorkspaceSpecInput } from './spec-props.ts'
import type { AuthorWarning } from './warnings.ts'

/** What a lab is: fields of the spec of a Workspace, beside the parts that are added. */
export interface WorkspaceProps extends WorkspaceSpecInput {
  /**
   * Default: the name is the id of the construct. It also names the namespace of the workspace. A DNS-1123 label of at most 63 characters.
   */
  readonly metadata?: ApiObjectMetadata
}

/** Ports of a member that are reached from outside of the lab. */
export interface LabServiceProps {
  /** Who answers. A machine must be on the pod network. */
  readonly member: { readonly memberName: string }
  /** Ports of the Service: a number for TCP, such as 80, or all of a port. Only these are opened. */
  readonly ports: readonly (number | WorkspaceServicePortProps)[]
  /** Who reaches it. The policy key allowedServiceTypes must name it. Default: ClusterIP, pods of the cluster. */
  readonly type?: WorkspaceServiceProps['type']
}

/** Two copies of this package in one program know each other's labs by it. */
const MARK = Symbol.for('pelotech.ot/Workspace')

/** The place of an item of a list of the spec, or of a field in it. */
const ITEM = /^spec\.([a-zA-Z]+)\[([0-9]+)\]/

/** The lists of the spec whose items are constructs. */
type Lists = Pick<WorkspaceSpecInput, 'vms' | 'containerClusters' | 'volumes' | 'networks' | 'secrets' | 'services'>

/**
 * A lab: machines, containers, networks and volumes that belong together. Its parts are given as fields of the spec, or added one by one, or both. It is
 * cluster-scoped, even if its chart has a namespace.
 *
 * `connect` and the like throw where they are called. All else that the API server would refuse is reported when the app is rendered, with all other problems of
 * the app. What no word here says is said with `patch`, and what no check knows with `addJsonPatch`.
 */
export class Workspace extends AuthoredObject {
  readonly #written: Lists
  readonly #networks: LabNetwork[] = []
  readonly #vms: LabVm[] = []
  readonly #containers: LabContainers[] = []
  readonly #volumes: LabVolume[] = []
  readonly #secrets: LabSecret[] = []
  readonly #services: WorkspaceServiceProps[] = []
  #patches: readonly SpecPatch[] = []
  #problems: string[] = []

  constructor(scope: Construct, id: string, props: WorkspaceProps = {}) {
    super(scope, id, { resource: workspace, name: dnsLabel(), parse: parseWorkspaceSpec }, named(id, props))
    this.#written = props
    Object.defineProperty(this, MARK, { value: true })
  }

  /**
   * Returns the lab that a construct is in, or is.
   * @throws Error if it is in none
   */
  static override of(construct: IConstruct): Workspace {
    const found = construct.node.scopes.toReversed().find((scope) => MARK in scope)
    if (found === undefined) throw new Error(`${construct.node.path}: is in no Workspace: make it below one`)
    return found as unknown as Workspace
  }

  /** Adds a network, which no other lab reaches. */
  addNetwork(name: string, props: LabNetworkProps = {}): LabNetwork {
    return this.#added(this.#networks, new LabNetwork(this, name, props))
  }

  /** Adds a virtual machine. Without `connect` it is on the pod network, with DHCP. */
  addVm(name: string, props: LabVmProps): LabVm {
    return this.#added(this.#vms, new LabVm(this, name, props))
  }

  /** Adds containers that share one host name and its interfaces. */
  addContainers(name: string, props: LabContainersProps = {}): LabContainers {
    return this.#added(this.#containers, new LabContainers(this, name, props))
  }

  /** Adds a volume, which containers mount and machines have as a disk. */
  addVolume(name: string, props: LabVolumeProps): LabVolume {
    return this.#added(this.#volumes, new LabVolume(this, name, props))
  }

  /** Adds a Secret that the operator makes in the namespace of the lab. */
  addSecret(name: string, props: LabSecretProps): LabSecret {
    return this.#added(this.#secrets, new LabSecret(this, name, props))
  }

  /** Adds a Service: ports of a member that are reached from outside of the lab, over the pod network. */
  addService(name: string, { member, ports, type }: LabServiceProps): void {
    const given = ports.map((port) => (typeof port === 'number' ? { port } : { ...port }))
    this.#services.push({ name, member: member.memberName, ports: given, ...(type !== undefined && { type }) })
  }

  /** Returns the inventory and the plays of the lab at a path of a container, read-only. */
  ansibleAt(containerPath: string): LabMount {
    return { name: 'ansible', containerPath }
  }

  /**
   * Lays fields over the spec, after all else: what no word here says. It is checked as the rest is. `addJsonPatch` adds what no check knows.
   * @param fields fields of the spec, such as { names: 'hosts' }. Objects are merged, all else is replaced, and null removes a field
   */
  patch(fields: SpecPatch): void {
    this.#patches = [...this.#patches, fields]
  }

  /** What it says of images, to be compared with what other objects of the app say. */
  override authoredImages(): readonly AuthoredImage[] {
    const { vms: written } = this.#written
    const claims = (Array.isArray(written) ? written : []).flatMap((vm) => {
      const { backingVMDiskImage: image, vmDiskImageTemplate: settings } = vm ?? {}
      return typeof image === 'string' && typeof settings === 'object' && settings !== null ? [{ image, settings }] : []
    })
    const added = this.#vms.flatMap((vm) => vm.imageTemplate() ?? [])
    return [...claims, ...added].map((claim) => ({ namespace: undefined, ...claim }))
  }

  /** What the API server accepts, and cannot work. */
  protected override specProblems(spec: unknown): readonly SpecProblem[] {
    return labProblems(spec as WorkspaceSpec)
  }

  /** What an author should know about a spec that is valid. */
  protected override specWarnings(spec: unknown): readonly AuthorWarning[] {
    const words: AuthorsWords = {
      isOutside: (at, address) => {
        const network = this.#partAt('networks', at)
        return network !== undefined && (network as LabNetwork).isOutside(address)
      },
      // A machine that was added has no other word for them.
      isPlainTextMeant: (at) => (this.#partAt('vms', at) as LabVm | undefined)?.isPatched === false,
    }
    return labRemarks(spec as WorkspaceSpec, words).map(({ id, path, name, message }) => {
      const [, list = '', index = ''] = ITEM.exec(path) ?? []
      const part = this.#partAt(list, Number(index))
      if (part !== undefined) return { at: part, id, message }
      return { at: this, id, message: name === undefined ? message : `${path} (${name}): ${message}` }
    })
  }

  /** The fields of the spec with the parts that were added. */
  protected override writtenSpec(): unknown {
    const written = super.writtenSpec()
    this.#problems = []
    if (typeof written !== 'object' || written === null) return written
    return this.#patches.reduce<unknown>(withPatch, { ...written, ...this.#lists() })
  }

  /** What is wrong with parts, each under the path of its construct. */
  protected override furtherProblems(): readonly string[] {
    return this.#problems
  }

  /** A problem of a part that was added names its construct, too. */
  protected override placeOf(field: string): string {
    const [, list = '', index = ''] = ITEM.exec(field) ?? []
    const part = this.#partAt(list, Number(index))
    return part === undefined ? field : `${part.node.path}: ${field}`
  }

  /** Returns the construct that was added for an item of a list of the spec. */
  #partAt(list: string, index: number): Construct | undefined {
    // A list that somebody has laid over it has other items.
    if (this.#patches.some((fields) => list in fields)) return undefined
    const written: unknown = this.#written[list as keyof Lists]
    const added: Readonly<Record<string, readonly Construct[]>> = {
      vms: this.#vms,
      containerClusters: this.#containers,
      volumes: this.#volumes,
      networks: this.#networks,
      secrets: this.#secrets,
    }
    return added[list]?.[index - (Array.isArray(written) ? written.length : 0)]
  }

  #added<Part>(parts: Part[], part: Part): Part {
    parts.push(part)
    return part
  }

  #lists(): Lists {
    const networks = this.#networks.map((one) =>
      one.toSpec(this.#networks, (problem) => this.#problems.push(`${one.node.path}: ${problem}`)),
    )
    const { vms, containerClusters, volumes, networks: others, secrets, services } = this.#written
    return {
      ...joined(
        'vms',
        vms,
        this.#vms.map((one) => one.toSpec()),
      ),
      ...joined(
        'containerClusters',
        containerClusters,
        this.#containers.map((one) => one.toSpec()),
      ),
      ...joined(
        'volumes',
        volumes,
        this.#volumes.map((one) => one.toSpec()),
      ),
      ...joined('networks', others, networks),
      ...joined(
        'secrets',
        secrets,
        this.#secrets.map((one) => one.toSpec()),
      ),
      ...joined('services', services, this.#services),
    }
  }
}

/** A list as it was written, with what was added after it. What is no list is a problem that the schema reports. */
function joined<Item>(field: string, written: readonly Item[] | undefined, added: readonly Item[]): object {
  if (added.length === 0) return {}
  return { [field]: Array.isArray(written) ? [...written, ...added] : added }
}

/** Returns the props with the id as the name, if they have none. What is wrong with them is reported later. */
function named(id: string, props: unknown): unknown {
  if (typeof props !== 'object' || props === null || Array.isArray(props)) return props
  const { metadata, ...rest } = props as WorkspaceProps
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null)) return props
  return { ...rest, metadata: { name: id, ...metadata } }
}
