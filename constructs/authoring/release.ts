import { type ApiObjectMetadata, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import type { DataSyncSpec } from '../api/data-sync.ts'
import { dataSyncImageName } from '../api/data-sync-names.ts'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { imageSpecOf } from '../children/data-sync-image.ts'
import { writtenSpecOf } from './checked-spec.ts'
import { DataSync } from './data-sync.ts'
import { addKindWords } from './kind-words.ts'
import type { ImageOfApp } from './lab-vm.ts'
import type { DataSyncSpecInput, DataSyncVmProps, VMDiskImageSpecInput } from './spec-props.ts'

/** What an image is made from, where it does not exist. */
export type LabImageTemplate = VMDiskImageSpecInput

/** What a release is: where its images come from, and what they share. */
export interface ReleaseProps<Name extends string> extends Omit<DataSyncSpecInput, 'vms'> {
  /**
   * Name of the DataSync and where it is. Default: the name is workspaceId, or workspaceId-version. The namespace is that of the chart, or vmdi-farm if it has
   * none, where labs look for images unless the policy key imageNamespace says otherwise.
   */
  readonly metadata?: ApiObjectMetadata
  /** The images of this version, by the name of the machine that each is for, such as { kali: { url: 'https://images.example.com/kali.qcow2' } }. */
  readonly images: Readonly<Record<Name, Omit<DataSyncVmProps, 'name'>>>
}

/**
 * The disk images of one version of a lab: a DataSync, which pipelines apply before the labs, and the references to its images. Releases of different versions
 * stay beside each other.
 * @example
 * ```ts
 * import { Release, Workspace } from '@open-terrain/constructs'
 * import { Size } from 'cdk8s'
 *
 * const release = new Release(chart, 'images', {
 *   workspaceId: 'redblue',
 *   version: '1.4.0',
 *   sourceType: 'http',
 *   diskSize: Size.gibibytes(20),
 *   images: { kali: { url: 'https://images.example.com/redblue/1.4.0/kali.qcow2' } },
 * })
 * new Workspace(chart, 'redblue').addVm('kali', { image: release.image('kali'), cpu: 2, memory: '4Gi' })
 * ```
 */
export class Release<const Name extends string = string> extends DataSync {
  /** Id of the lab that the images are for. */
  readonly workspaceId: string
  /** Version of the images; undefined if there are no versions. */
  readonly version: string | undefined
  readonly #isNamed: boolean
  readonly #keys: readonly string[]
  readonly #names: ReadonlyMap<string, string>
  readonly #templates: ReadonlyMap<string, LabImageTemplate>

  constructor(scope: Construct, id: string, props: ReleaseProps<Name>) {
    const { metadata, images = {} as ReleaseProps<Name>['images'], ...shared } = props ?? ({} as ReleaseProps<Name>)
    if (typeof images !== 'object' || images === null || props?.images === undefined)
      throw new Error(
        `${scope.node.path}/${id}: images must have one image or more, by the names of their machines, such as { kali: { url: 'https://images.example.com/kali.qcow2' } }`,
      )
    const { workspaceId, version } = shared
    const names = Object.keys(images) as Name[]
    const name = version === undefined ? workspaceId : `${workspaceId}-${version}`
    const hasNamespace = scope?.node?.scopes.findLast((one) => Chart.isChart(one))?.namespace !== undefined
    const place = hasNamespace ? {} : { namespace: POLICY_DEFAULTS.imageNamespace }
    super(scope, id, {
      ...shared,
      metadata: { name: String(name).toLowerCase(), ...place, ...metadata },
      vms: names.map((vm) => ({ name: vm, ...images[vm] })),
    })
    this.#isNamed = metadata?.name !== undefined
    this.#keys = names
    this.workspaceId = workspaceId
    this.version = version
    addKindWords(this, {
      placeOf: (field) => this.#placeOf(field),
      metadataSentence: (sentence) => this.#metadataSentence(sentence),
    })
    const spec = writtenSpecOf(this) as DataSyncSpec
    this.#templates = new Map(spec.vms.map((vm) => [vm.name, imageSpecOf(spec, vm)]))
    this.#names = new Map(names.map((vm) => [vm, dataSyncImageName({ workspaceId, version, vm })]))
  }

  /**
   * Returns the images of a release that is made elsewhere, such as by a pipeline.
   * @param release its workspaceId, and its version if it has one
   */
  static fromVersion(release: { readonly workspaceId: string; readonly version?: string }): {
    image(vm: string): { readonly imageName: string }
  } {
    return { image: (vm) => ({ imageName: dataSyncImageName({ ...release, vm }) }) }
  }

  /** Its images are given by their names. */
  #placeOf(field: string): string {
    const [vm, index = ''] = /^spec\.vms\[([0-9]+)\]/.exec(field) ?? []
    const key = this.#keys[Number(index)]
    if (field === 'spec.vms') return 'images'
    return vm === undefined || key === undefined ? field : `images.${key}${field.slice(vm.length)}`
  }

  /** Its name is made of others, unless it is given. */
  #metadataSentence(sentence: string): string {
    if (this.#isNamed || !sentence.startsWith('metadata.name: ')) return sentence
    return `${sentence}, made of workspaceId and version: write others, or metadata with a name`
  }

  /**
   * Returns the image of a machine, as `addVm` takes it.
   * @throws Error if the release has no such image
   */
  image(vm: NoInfer<Name>): ImageOfApp {
    const imageName = this.#names.get(vm)
    if (imageName === undefined)
      throw new Error(
        `${this.node.path}: has no image "${vm}": add it to images, beside ${[...this.#names.keys()].join(', ')}`,
      )
    return { imageName, imageNamespace: this.metadata.namespace }
  }

  /**
   * Returns the image as a template: with it, as `vmDiskImageTemplate` beside `image`, a lab makes the image itself where no pipeline has applied the release
   * before, and the same one.
   * @throws Error if the release has no such image
   */
  template(vm: NoInfer<Name>): LabImageTemplate {
    this.image(vm)
    return this.#templates.get(vm) as LabImageTemplate
  }
}
