import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct, IConstruct } from 'constructs'
import { dnsLabel } from '../api/shared.ts'
import type { SpecProblem } from '../api/spec-problem.ts'
import { parseWorkspaceSpec, type WorkspaceSpec, type WorkspaceVm, workspace } from '../api/workspace.ts'
import { imagesOfApp, unknownImage } from './app-problems.ts'
import type { AuthorWarning } from './author-warning.ts'
import { AuthoredObject } from './checked-spec.ts'
import { LabContainers, type LabContainersProps } from './lab-containers.ts'
import { LabNetwork, type LabNetworkProps } from './lab-network.ts'
import { labProblems } from './lab-problems.ts'
import { type AuthorsWords, endRemarks, type LabRemark, labRemarks } from './lab-remarks.ts'
import { LabSecret, type LabSecretProps } from './lab-secret.ts'
import { LabService, type LabServiceProps } from './lab-service.ts'
import { LabVm, type LabVmProps } from './lab-vm.ts'
import { type LabMount, LabVolume, type LabVolumeProps } from './lab-volume.ts'
import { inWords, inWordsOf, placeInWordsOf } from './lab-words.ts'
import { freeId, notePlace } from './made-at.ts'
import { type SpecPatch, withPatch } from './merge-patch.ts'
import type { AuthoredImage } from './node-problems.ts'
import { plainValue } from './plain-values.ts'
import type { WorkspaceSpecInput } from './spec-props.ts'
import { timeOfSynth } from './warnings.ts'

/** What a lab is: fields of the spec of a Workspace, beside the parts that are added. */
export interface WorkspaceProps extends WorkspaceSpecInput {
  /**
   * Default: the name is the id of the construct. It also names the namespace of the workspace. A DNS-1123 label of at most 63 characters.
   */
  readonly metadata?: ApiObjectMetadata
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
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue', { names: 'hosts' })
 * const office = lab.addNetwork('office', { cidr: '10.20.0.0/24', gateway: 1 })
 * lab.addContainers('router').connect(office, 1).add('frr', { image: 'registry.example.com/frr:10' })
 * lab.addVm('desktop', { image: 'debian-13', cpu: 2, memory: '4Gi' }).connect(office, 11)
 * ```
 */
export class Workspace extends AuthoredObject {
  readonly #written: Lists
  readonly #networks: LabNetwork[] = []
  readonly #vms: LabVm[] = []
  readonly #containers: LabContainers[] = []
  readonly #volumes: LabVolume[] = []
  readonly #secrets: LabSecret[] = []
  readonly #services: LabService[] = []
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
    this.#requireFree('networks', name, { what: 'a network', hidden: this.addNetwork })
    return this.#added(this.#networks, new LabNetwork(this, name, props), this.addNetwork)
  }

  /** Adds a virtual machine. Without `connect` it is on the pod network, with DHCP. */
  addVm(name: string, props: LabVmProps): LabVm {
    this.#requireFree('vms', name, { what: 'a machine', hidden: this.addVm })
    return this.#added(this.#vms, new LabVm(this, name, props), this.addVm)
  }

  /** Adds containers that share one host name and its interfaces. */
  addContainers(name: string, props: LabContainersProps = {}): LabContainers {
    this.#requireFree('containerClusters', name, { what: 'a member with containers', hidden: this.addContainers })
    return this.#added(this.#containers, new LabContainers(this, name, props), this.addContainers)
  }

  /** Adds a volume, which containers mount and machines have as a disk. */
  addVolume(name: string, props: LabVolumeProps): LabVolume {
    this.#requireFree('volumes', name, { what: 'a volume', hidden: this.addVolume })
    return this.#added(this.#volumes, new LabVolume(this, name, props), this.addVolume)
  }

  /** Adds a Secret that the operator makes in the namespace of the lab. */
  addSecret(name: string, props: LabSecretProps): LabSecret {
    this.#requireFree('secrets', name, { what: 'a Secret', hidden: this.addSecret })
    return this.#added(this.#secrets, new LabSecret(this, name, props), this.addSecret)
  }

  /** Adds a Service: ports of a member that are reached from outside of the lab, over the pod network. */
  addService(name: string, props: LabServiceProps): LabService {
    this.#requireFree('services', name, { what: 'a Service', hidden: this.addService })
    return this.#added(this.#services, new LabService(this, name, props), this.addService)
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
    const added = this.#there(this.#vms).flatMap((vm) => vm.imageTemplate() ?? [])
    return [...claims, ...added].map(({ image, settings }) => {
      const fields = Object.entries(settings).map(([field, value]) => [field, plainValue(value)])
      return { namespace: undefined, image, settings: Object.fromEntries(fields) }
    })
  }

  /** What the API server accepts, and cannot work. */
  protected override specProblems(spec: unknown): readonly SpecProblem[] {
    return labProblems(spec as WorkspaceSpec)
  }

  /** What an author should know about a spec that is valid. */
  protected override specWarnings(spec: unknown): readonly AuthorWarning[] {
    const { sizes } = imagesOfApp(this.node.root)
    const words: AuthorsWords = {
      imageSize: (image) => sizes.get(image),
      isOutside: (at, address) => {
        const network = this.#partAt('networks', at)
        return network !== undefined && (network as LabNetwork).isOutside(address)
      },
      // A machine that was added has no other word for them.
      isPlainTextMeant: (at) => (this.#partAt('vms', at) as LabVm | undefined)?.isPatched === false,
    }
    const lab = spec as WorkspaceSpec
    const told = [...labRemarks(lab, words), ...endRemarks(lab, timeOfSynth()), ...this.#imageRemarks(lab)]
    return told.map(({ id, path, name, message }) => {
      const [, list = '', index = ''] = ITEM.exec(path) ?? []
      const part = this.#partAt(list, Number(index))
      if (part !== undefined) return { at: part, id, message: inWordsOf(part, message) }
      return { at: this, id, message: name === undefined ? message : `${path} (${name}): ${message}` }
    })
  }

  /** A text may be anything. Beside a program that makes images, it is mostly one of those. */
  #imageRemarks({ vms = [] }: WorkspaceSpec): LabRemark[] {
    const { isMaker, names } = imagesOfApp(this.node.root)
    if (!isMaker) return []
    return vms.flatMap((vm, at) => {
      const part = this.#partAt('vms', at) as LabVm | undefined
      const written = part !== undefined && !part.isPatched ? part.imageTexts() : imageNamesOf(vm)
      const unknown = [...new Set(written)].filter((one) => !names.has(one))
      const path = `spec.vms[${at}]`
      return unknown.map((image) => ({
        id: 'UnknownImage',
        path,
        name: vm.name,
        message: unknownImage(image, names, `write VMDiskImage.fromName('${image}')`),
      }))
    })
  }

  /** The fields of the spec with the parts that were added. */
  protected override givenSpec(): unknown {
    const written = super.givenSpec()
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
    return part === undefined ? field : `${part.node.path}: ${placeInWordsOf(part, field)}`
  }

  /** A problem of a part that was added is told in the words that added it. */
  protected override sentenceOf(field: string, message: string): string {
    const [, list = '', index = ''] = ITEM.exec(field) ?? []
    const part = this.#partAt(list, Number(index))
    if (part !== undefined) return inWordsOf(part, message)
    return this.#vms.length + this.#containers.length === 0 ? message : inWords(message)
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
      services: this.#services,
    }
    return this.#there(added[list] ?? [])[index - (Array.isArray(written) ? written.length : 0)]
  }

  #requireFree(list: string, name: string, wanted: { readonly what: string; readonly hidden: unknown }): void {
    freeId(this, `${list}.${name}`, { name, ...wanted })
  }

  /** Returns the parts that nobody has taken out of the tree. */
  #there<Part extends IConstruct>(parts: readonly Part[]): readonly Part[] {
    return parts.filter((part) => this.node.tryFindChild(part.node.id) === part)
  }

  /** @param hidden the function that authors call */
  #added<Part extends IConstruct>(parts: Part[], part: Part, hidden: unknown): Part {
    notePlace(part, hidden)
    parts.push(part)
    return part
  }

  #lists(): Lists {
    const allNetworks = this.#there(this.#networks)
    const networks = allNetworks.map((one) =>
      one.toSpec(allNetworks, (problem) => this.#problems.push(`${one.node.path}: ${problem}`)),
    )
    const { vms, containerClusters, volumes, networks: others, secrets, services } = this.#written
    return {
      ...joined(
        'vms',
        vms,
        this.#there(this.#vms).map((one) => one.toSpec()),
      ),
      ...joined(
        'containerClusters',
        containerClusters,
        this.#there(this.#containers).map((one) => one.toSpec()),
      ),
      ...joined(
        'volumes',
        volumes,
        this.#there(this.#volumes).map((one) => one.toSpec()),
      ),
      ...joined('networks', others, networks),
      ...joined(
        'secrets',
        secrets,
        this.#there(this.#secrets).map((one) => one.toSpec()),
      ),
      ...joined(
        'services',
        services,
        this.#there(this.#services).map((one) => one.toSpec()),
      ),
    }
  }
}

/** Images that the operator does not make for the machine itself. */
function imageNamesOf({ backingVMDiskImage, vmDiskImageTemplate, disks = [] }: WorkspaceVm): string[] {
  const root = vmDiskImageTemplate === undefined ? [backingVMDiskImage] : []
  return [...root, ...disks.flatMap((disk) => disk.backingVMDiskImage ?? [])]
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
