import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct, IConstruct } from 'constructs'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { dnsLabel } from '../api/shared.ts'
import { parseWorkspaceSpec, type WorkspaceSpec, type WorkspaceVm, workspace } from '../api/workspace.ts'
import { imagesOfApp, unknownImage } from './app-problems.ts'
import type { AuthorWarning } from './author-warning.ts'
import { AuthoredObject } from './checked-spec.ts'
import { insideOf, type NetworkInside, type PartInside, type VmInside } from './inside.ts'
import { placeOfItem } from './item-names.ts'
import { addKindWords } from './kind-words.ts'
import { LabContainers, type LabContainersProps } from './lab-containers.ts'
import { LabNetwork, type LabNetworkProps } from './lab-network.ts'
import { idOfPart, type LabParts, markLab, requireLab, takenFrom } from './lab-part.ts'
import { labProblems } from './lab-problems.ts'
import { type AuthorsWords, endRemarks, type LabRemark, labRemarks } from './lab-remarks.ts'
import { LabSecret, type LabSecretProps } from './lab-secret.ts'
import { LabService, type LabServiceProps } from './lab-service.ts'
import { type ImageOfApp, LabVm, type LabVmProps } from './lab-vm.ts'
import { type LabMount, LabVolume, type LabVolumeProps } from './lab-volume.ts'
import { inWords, inWordsOf, placeInWordsOf } from './lab-words.ts'
import { notePlace } from './made-at.ts'
import { type SpecPatch, withPatch } from './merge-patch.ts'
import { namedBy } from './named-by.ts'
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

/** The parts that were added to a lab, by the list of the spec that has them. */
interface Parts {
  readonly networks: LabNetwork[]
  readonly vms: LabVm[]
  readonly containerClusters: LabContainers[]
  readonly volumes: LabVolume[]
  readonly secrets: LabSecret[]
  readonly services: LabService[]
}

/** The place of an item of a list of the spec, or of a field in it. */
const ITEM = /^spec\.([a-zA-Z]+)\[([0-9]+)\]/

/** Fields of a machine that name images. */
const IMAGE_FIELDS = ['backingVMDiskImage', 'vmDiskImageTemplate', 'disks']

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
  /** The parts of each list, in the order in which they were added. */
  readonly #parts: Parts = { networks: [], vms: [], containerClusters: [], volumes: [], secrets: [], services: [] }
  #patches: readonly SpecPatch[] = []
  #problems: string[] = []

  constructor(scope: Construct, id: string, props: WorkspaceProps = {}) {
    super(scope, id, { resource: workspace, name: dnsLabel(), parse: parseWorkspaceSpec }, namedBy(id, props))
    this.#written = props
    markLab(this, this.#keeper())
    addKindWords(this, {
      givenSpec: (written) => this.#givenSpec(written),
      furtherProblems: () => this.#problems,
      specProblems: (spec) => labProblems(spec as WorkspaceSpec),
      specWarnings: (spec) => this.#warnings(spec as WorkspaceSpec),
      authoredImages: () => this.#images(),
      placeOf: (field, names) => this.#placeOf(field, names),
      sentenceOf: (field, message) => this.#sentenceOf(field, message),
    })
  }

  /**
   * Returns the lab that a construct is in, or is. What its `addVm` and the like make is below the lab: a construct of your own makes its parts in itself, as
   * `new LabVm(this, ...)`, so that messages name it.
   * @throws Error if it is in none
   */
  static override of(construct: IConstruct): Workspace {
    return requireLab(construct) as unknown as Workspace
  }

  /** Adds a network, which no other lab reaches. */
  addNetwork(name: string, props: LabNetworkProps = {}): LabNetwork {
    idOfPart(this, 'networks', name, this.addNetwork)
    return madeBy(this.addNetwork, new LabNetwork(this, name, props))
  }

  /** Adds a virtual machine. Without `connect` it is on the pod network, with DHCP. */
  addVm(name: string, props: LabVmProps): LabVm {
    idOfPart(this, 'vms', name, this.addVm)
    return madeBy(this.addVm, new LabVm(this, name, props))
  }

  /** Adds containers that share one host name and its interfaces. */
  addContainers(name: string, props: LabContainersProps = {}): LabContainers {
    idOfPart(this, 'containerClusters', name, this.addContainers)
    return madeBy(this.addContainers, new LabContainers(this, name, props))
  }

  /** Adds a volume, which containers mount and machines have as a disk. */
  addVolume(name: string, props: LabVolumeProps): LabVolume {
    idOfPart(this, 'volumes', name, this.addVolume)
    return madeBy(this.addVolume, new LabVolume(this, name, props))
  }

  /** Adds a Secret that the operator makes in the namespace of the lab. */
  addSecret(name: string, props: LabSecretProps): LabSecret {
    idOfPart(this, 'secrets', name, this.addSecret)
    return madeBy(this.addSecret, new LabSecret(this, name, props))
  }

  /** Adds a Service: ports of a member that are reached from outside of the lab, over the pod network. */
  addService(name: string, props: LabServiceProps): LabService {
    idOfPart(this, 'services', name, this.addService)
    return madeBy(this.addService, new LabService(this, name, props))
  }

  /** Returns the inventory and the plays of the lab at a path of a container, read-only. */
  ansibleAt(containerPath: string): LabMount {
    return takenFrom(this, { name: 'ansible', containerPath })
  }

  /**
   * Lays fields over the spec, after all else: what no word here says. It is checked as the rest is. `addJsonPatch` adds what no check knows.
   * @param fields fields of the spec, such as { names: 'hosts' }. Objects are merged, all else is replaced, and null removes a field
   */
  patch(fields: SpecPatch): void {
    this.#patches = [...this.#patches, fields]
  }

  /** What it says of images, to be compared with what other objects of the app say. */
  #images(): readonly AuthoredImage[] {
    const { vms: written } = this.#written
    const claims = (Array.isArray(written) ? written : []).flatMap((vm) => {
      const { backingVMDiskImage: image, vmDiskImageTemplate: settings } = vm ?? {}
      return typeof image === 'string' && typeof settings === 'object' && settings !== null ? [{ image, settings }] : []
    })
    const added = this.#there('vms').flatMap((vm) => insideOf<VmInside>(vm).imageTemplate() ?? [])
    return [...claims, ...added].map(({ image, settings }) => {
      const fields = Object.entries(settings).map(([field, value]) => [field, plainValue(value)])
      return { namespace: undefined, image, settings: Object.fromEntries(fields) }
    })
  }

  /** What an author should know about a spec that is valid. */
  #warnings(lab: WorkspaceSpec): readonly AuthorWarning[] {
    const { sizes } = imagesOfApp(this.node.root)
    const words: AuthorsWords = {
      imageSize: (image) => sizes.get(image),
      isOutside: (at, address) => {
        const network = this.#partAt('networks', at)
        return network !== undefined && insideOf<NetworkInside>(network).addresses.isOutside(address)
      },
      // A machine that was added has no other word for them.
      isPlainTextMeant: (at) => this.#vmAt(at)?.isPatched('users') === false,
    }
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
      const part = this.#vmAt(at)
      const isAdded = part !== undefined && !part.isPatched(...IMAGE_FIELDS)
      const texts = isAdded ? part.imageTexts() : imageNamesOf(vm)
      const given = isAdded ? part.imagesOfApp() : []
      const item = { path: `spec.vms[${at}]`, name: vm.name }
      const unknown = [...new Set(texts)].filter((one) => !names.has(one))
      const elsewhere = [...given.map(placeOfImage), ...texts.flatMap((one) => placesElsewhere(one, names))]
      return [
        ...unknown.map((image) => ({
          id: 'UnknownImage' as const,
          ...item,
          message: unknownImage(image, names, `write VMDiskImage.fromName('${image}')`),
        })),
        ...[...new Set(elsewhere)]
          .filter((place) => place !== undefined)
          .map((message) => ({ id: 'ImageElsewhere' as const, ...item, message })),
      ]
    })
  }

  /** The fields of the spec with the parts that were added. */
  #givenSpec(written: unknown): unknown {
    this.#problems = []
    if (typeof written !== 'object' || written === null) return written
    return this.#patches.reduce<unknown>(withPatch, { ...written, ...this.#lists() })
  }

  /** A problem of a part that was added names its construct, too. */
  #placeOf(field: string, names: readonly string[]): string {
    const [, list = '', index = ''] = ITEM.exec(field) ?? []
    const part = this.#partAt(list, Number(index))
    if (part === undefined) return placeOfItem(field, names)
    return placeOfItem(placeInWordsOf(part, field), [part.node.path, ...names.slice(1)])
  }

  /** The message about an added part uses the names of the props that the author wrote. */
  #sentenceOf(field: string, message: string): string {
    const [, list = '', index = ''] = ITEM.exec(field) ?? []
    const part = this.#partAt(list, Number(index))
    if (part !== undefined) return inWordsOf(part, message)
    return this.#parts.vms.length + this.#parts.containerClusters.length === 0 ? message : inWords(message)
  }

  /** Returns the construct that was added for an item of a list of the spec. */
  #partAt(list: string, index: number): Construct | undefined {
    // A list that somebody has laid over it has other items.
    if (this.#patches.some((fields) => list in fields)) return undefined
    const written: unknown = this.#written[list as keyof Lists]
    const added = list in this.#parts ? this.#there(list as keyof Parts) : []
    return added[index - (Array.isArray(written) ? written.length : 0)]
  }

  #vmAt(index: number): VmInside | undefined {
    const part = this.#partAt('vms', index)
    return part && insideOf<VmInside>(part)
  }

  /** Returns the parts of a list that nobody has taken out of the tree. */
  #there<List extends keyof Parts>(list: List): Parts[List] {
    const parts: readonly IConstruct[] = this.#parts[list]
    return parts.filter((part) => isInTree(part)) as Parts[List]
  }

  /** Parts may be made in constructs of teams, by another copy of this package. */
  #keeper(): LabParts {
    return {
      find: (list, name) => this.#there(list).find((part) => part.node.id === `${list}.${name}`),
      add: (list, part) => {
        const parts: IConstruct[] = this.#parts[list]
        parts.push(part)
      },
    }
  }

  #lists(): Lists {
    const networks = this.#there('networks')
    const specs = {
      vms: this.#there('vms').map(specOfPart),
      containerClusters: this.#there('containerClusters').map(specOfPart),
      volumes: this.#there('volumes').map(specOfPart),
      networks: networks.map((one) =>
        insideOf<NetworkInside>(one).toSpec(networks, (problem) => this.#problems.push(`${one.node.path}: ${problem}`)),
      ),
      secrets: this.#there('secrets').map(specOfPart),
      services: this.#there('services').map(specOfPart),
    }
    const lists = Object.entries(specs) as [keyof Lists, readonly unknown[]][]
    return Object.assign({}, ...lists.map(([list, added]) => joined(list, this.#written[list], added)))
  }
}

function specOfPart(part: IConstruct): unknown {
  return insideOf<PartInside>(part).toSpec()
}

/** Returns a part that a function has made. @param hidden the function, which authors call */
function madeBy<Part extends IConstruct>(hidden: unknown, part: Part): Part {
  notePlace(part, hidden)
  return part
}

/** Images that the operator does not make for the machine itself. */
function imageNamesOf({ backingVMDiskImage, vmDiskImageTemplate, disks = [] }: WorkspaceVm): string[] {
  const root = vmDiskImageTemplate === undefined ? [backingVMDiskImage] : []
  return [...root, ...disks.flatMap((disk) => disk.backingVMDiskImage ?? [])]
}

type NamesOfImages = ReturnType<typeof imagesOfApp>['names']

/** Returns what is wrong with the place of an image; undefined if labs look there. */
function placeOfImage({ imageName, imageNamespace: place }: ImageOfApp): string | undefined {
  const { imageNamespace } = POLICY_DEFAULTS
  if (place === imageNamespace) return undefined
  const where = place === undefined ? 'is in no namespace of its own' : `is in namespace ${place}`
  return `image ${imageName} ${where}, and labs look in ${imageNamespace}: give its chart or its metadata that namespace, or acknowledge this if the policy key imageNamespace says otherwise`
}

/** What a lab brings with it is made where labs look. */
function placesElsewhere(imageName: string, names: NamesOfImages): (string | undefined)[] {
  const places = (names.get(imageName) ?? []).map((imageNamespace) => placeOfImage({ imageName, imageNamespace }))
  return places.includes(undefined) ? [] : places
}

/** A list as it was written, with what was added after it. What is no list is a problem that the schema reports. */
function joined<Item>(field: string, written: readonly Item[] | undefined, added: readonly Item[]): object {
  if (added.length === 0) return {}
  return { [field]: Array.isArray(written) ? [...written, ...added] : added }
}

/** Somebody may have taken it out, or a construct around it. */
function isInTree(part: IConstruct): boolean {
  return part.node.scopes.every(
    ({ node }) => node.scope === undefined || node.scope.node.tryFindChild(node.id) === node.scopes.at(-1),
  )
}
