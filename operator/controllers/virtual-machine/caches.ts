import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  diskClaimName,
  parseVirtualMachineSpec,
  type VirtualMachineDisk,
  type VirtualMachineSpec,
  virtualMachine,
  vmChildNames,
} from '@open-terrain/constructs/operator'
import { BY_CHILD, BY_NAMESPACE, byNamespace } from '../../cluster/caches.ts'
import { nameIn, namesAmong, ownKind } from '../../cluster/own-view.ts'
import { familyKey } from '../../cluster/ownership.ts'
import type { QuotaView } from '../../cluster/quotas.ts'
import { OF_WORKSPACE, type StorageClassView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { type KubeObject, keyOf, namespaceOf, type Raw, type ResourceType } from '../../kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../kube/resource-types.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { BY_NAME_WITHOUT_HASH, namesWithoutHash } from './hashed-names.ts'
import { type InstanceView, type KubeVirtView, viewInstance, viewKubeVirt } from './kubevirt-views.ts'
import type { ClaimFacts, CloneFacts, MachineView } from './world.ts'

export const MACHINE: ResourceType = virtualMachine

/** Indexes over machines, in addition to BY_NAMESPACE. This one is by {@link familyKey}. */
export const BY_FAMILY = 'family'
/** `<namespace>/<name>` of the image that a machine without a root disk names for it. */
const BY_AWAITED_IMAGE = 'awaited image'
/** Namespaces of the images that a machine names. */
export const BY_IMAGE_NAMESPACE = 'image namespace'
/** `<namespace>/<name>` of the image that a machine's disk was made from, if the machine names another image now. */
export const BY_FORMER_IMAGE = 'former image'
/** `<namespace>/<name>` of the Secrets that passwords and user data come from. */
export const BY_NAMED_SECRET = 'named secret'
/** Namespace of a machine whose root disk is being replaced. */
export const BY_REPLACED = 'replaced'

/** The part of the cluster caches that machines read. */
export interface ClusterFacts {
  /** With the index BY_OWNER. */
  readonly dataVolumes: Readable<CloneFacts> & Pick<Store<CloneFacts>, 'find'>
  /** With the index BY_OWNER. */
  readonly claims: Readable<ClaimFacts> & Pick<Store<ClaimFacts>, 'find' | 'values'>
  readonly snapshots: Readable<KubeObject>
  readonly dataSources: Readable<KubeObject>
  readonly secrets: Readable<KubeObject>
  readonly storageClasses: Readable<StorageClassView>
  readonly namespaces: Readable<KubeObject>
  /** With the index BY_NAMESPACE. */
  readonly quotas: Readable<QuotaView> & Pick<Store<QuotaView>, 'find'>
}

const OWN = ownKind<MachineView, VirtualMachineSpec>({
  type: MACHINE,
  parse: parseVirtualMachineSpec,
  max: 1_000_000,
  matters: {
    ...OF_WORKSPACE,
    annotations: [
      ...OF_WORKSPACE.annotations,
      ANNOTATIONS.rebuildRequestedAt,
      ANNOTATIONS.resetRequestedAt,
      ANNOTATIONS.deleteDiskFirst,
      ANNOTATIONS.givenRebuild,
      ANNOTATIONS.givenReset,
      ANNOTATIONS.runStrategy,
    ],
  },
  references: referencesIn,
  withoutRoom: 'aside',
})

export const { view: viewMachine, parsed: parsedMachineSpec } = OWN

/**
 * Maximum characters kept of KubeVirt's machine: room for as many disks, networks and interfaces as it can have, and for as many that others add. It
 * must exceed the size up to which the machine is changed.
 */
const KUBEVIRT_MAX = 64_000

const KUBEVIRT_TYPES: readonly ResourceType[] = [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE]

/** All caches that decisions about machines use. */
export class MachineCaches {
  readonly machines = new Store<MachineView>()
    .index(BY_FAMILY, ({ metadata }) => [familyKey(metadata.namespace, metadata.uid ?? '')])
    .index(BY_NAMESPACE, byNamespace)
    .index(BY_IMAGE, imagesNamedBy)
    .index(BY_AWAITED_IMAGE, (vm) => (vm.status.clone === undefined ? imageOf(vm) : []))
    .index(BY_FORMER_IMAGE, formerImageOf)
    .index(BY_IMAGE_NAMESPACE, (vm) => [...new Set(imagesNamedBy(vm).map(namespaceOf))])
    .index(BY_NAMED_SECRET, namedSecretsOf)
    .index(BY_REPLACED, ({ metadata, status }) => (status.replacement === undefined ? [] : [metadata.namespace ?? '']))
    .index(BY_CHILD, childrenOf)
  readonly kubevirt = new Store<KubeVirtView>()
  readonly instances = new Store<InstanceView>()
  readonly images: Store<ImageView>
  readonly cluster: ClusterFacts
  readonly reflectors: Reflectors
  /** Uids of the machines of which a root disk is being asked for: it is not in the caches before the API server has answered. Only one operator leads. */
  readonly asking = new Set<string>()

  constructor(reflectors: Reflectors, images: Store<ImageView>, cluster: ClusterFacts) {
    this.reflectors = reflectors
    this.images = images.index(BY_NAME_WITHOUT_HASH, namesWithoutHash)
    this.cluster = cluster
    OWN.keepIn(this.machines, reflectors)
    const onDemand = true
    reflectors.add(KUBEVIRT_VIRTUAL_MACHINE, this.kubevirt, viewKubeVirt, { keptMax: KUBEVIRT_MAX, onDemand })
    reflectors.add(VIRTUAL_MACHINE_INSTANCE, this.instances, viewInstance, { onDemand })
    this.machines.onChange(() => reflectors.need(KUBEVIRT_TYPES))
  }

  /** Reports whether these caches are complete. KubeVirt's objects are read only once a VirtualMachine exists. */
  get isComplete(): boolean {
    return this.reflectors.areComplete(KUBEVIRT_TYPES)
  }

  /** Returns the `<namespace>/<name>` of the only image of a DataSync that is called so, but for a hash; undefined if there is none, or a choice. */
  imageWithHash(key: string): string | undefined {
    const [image, ...others] = this.images.find(BY_NAME_WITHOUT_HASH, key)
    return image === undefined || others.length > 0 ? undefined : keyOf(image.metadata)
  }

  /** Returns how many machines without a disk wait for the same image; 1 for one that has a disk. */
  waitingWith(vm: MachineView, { clone }: MachineView['status']): number {
    const [image] = clone === undefined ? imageOf(vm) : []
    return image === undefined ? 1 : Math.max(1, this.machines.count(BY_AWAITED_IMAGE, image))
  }
}

/** The images and the Secrets that a spec names, what has to be on the same node, and whether it is switched off. */
function referencesIn(spec: unknown): LooseSpec {
  const { vmDiskImageRef, users, userDataSecretRef, disks, nodeGroup, powerState } = (spec ?? {}) as LooseSpec
  const sources = sourcesIn(disks)
  const secrets = namesAmong(users, (user) => (user as Raw)?.passwordSecretRef?.name)
  return {
    vmDiskImageRef: { namespace: nameIn(vmDiskImageRef?.namespace), name: nameIn(vmDiskImageRef?.name) },
    users: secrets.map((name) => ({ passwordSecretRef: { name } })),
    ...(userDataSecretRef != null && { userDataSecretRef: { name: nameIn(userDataSecretRef.name) } }),
    ...(sources.length > 0 && { disks: sources }),
    ...(nodeGroup !== undefined && { nodeGroup: nameIn(nodeGroup) }),
    ...(powerState !== undefined && { powerState: nameIn(powerState) }),
  }
}

function volumesIn(disks: unknown): string[] {
  return namesAmong(disks, ({ volume }) => volume)
}

/** A disk of an unchecked spec, as far as it names an image. */
export interface LooseDisk {
  readonly name: string
  readonly vmDiskImageRef: { readonly name: string; readonly namespace?: string }
}

/** Returns the disks of an unchecked spec that are clones of images, with nothing else of them. */
export function imageDisksIn(disks: unknown): LooseDisk[] {
  if (!Array.isArray(disks)) return []
  return disks.flatMap((disk: Raw): LooseDisk[] => {
    const name = nameIn(disk?.name)
    const image = nameIn(disk?.vmDiskImageRef?.name)
    const namespace = nameIn(disk?.vmDiskImageRef?.namespace)
    if (name === undefined || image === undefined) return []
    return [{ name, vmDiskImageRef: { name: image, ...(namespace !== undefined && { namespace }) } }]
  })
}

function sourcesIn(disks: unknown): object[] {
  return [...volumesIn(disks).map((volume) => ({ volume })), ...imageDisksIn(disks)]
}

/** The spec is unchecked. */
interface LooseSpec {
  readonly nodeGroup?: unknown
  readonly powerState?: unknown
  readonly disks?: unknown
  readonly vmDiskImageRef?: { readonly namespace?: unknown; readonly name?: unknown } | null
  readonly users?: readonly ({ readonly passwordSecretRef?: { readonly name?: unknown } | null } | null)[] | null
  readonly userDataSecretRef?: { readonly name?: unknown } | null
}

/** `<namespace>/<name>` of the images that a machine names, that of its root disk first. */
export function imagesNamedBy(vm: MachineView): readonly string[] {
  const { disks } = (vm.spec ?? {}) as LooseSpec
  if (disks === undefined) return imageOf(vm)
  return [...new Set([...imageOf(vm), ...imageDisksIn(disks).map((disk) => diskImageOf(vm, disk) ?? '')])]
}

/** `<namespace>/<name>` of the image that a disk beside the root disk is a clone of; undefined if it is of none. */
export function diskImageOf({ metadata }: KubeObject, disk: Pick<VirtualMachineDisk, 'vmDiskImageRef'>) {
  const ref = disk.vmDiskImageRef
  return ref && keyOf({ namespace: ref.namespace ?? metadata.namespace ?? '', name: ref.name })
}

/** `<namespace>/<name>` of the image that a machine names for its root disk. */
export function imageOf({ spec, metadata }: MachineView): readonly string[] {
  const ref = (spec as LooseSpec | null | undefined)?.vmDiskImageRef
  if (typeof ref?.name !== 'string') return []
  const namespace = typeof ref.namespace === 'string' ? ref.namespace : (metadata.namespace ?? '')
  return [keyOf({ namespace, name: ref.name })]
}

/** `<namespace>/<name>` of the image that a machine's disk was made from, if the machine names another image now. */
export function formerImageOf(vm: MachineView): readonly string[] {
  const { image } = vm.status.clone ?? {}
  return image === undefined || imageOf(vm).includes(image) ? [] : [image]
}

/** Its disks are among them, also those that are volumes. */
function childrenOf(vm: MachineView): readonly string[] {
  const { metadata, spec, status } = vm
  const { namespace = '', name } = metadata
  const { disks } = (spec ?? {}) as LooseSpec
  const own = [
    ...namesAmong(disks, (disk) => disk.name).map((disk) => diskClaimName(name, disk)),
    ...imageDisksIn(disks).map((disk) => diskClaimName(name, disk.name, disk.vmDiskImageRef.name)),
  ]
  const roots = [status.clone?.name, status.replacement?.disk.name, status.oldDisk?.claim]
  const recorded = (status.disks ?? []).map(({ claim }) => claim)
  const claims = [...own, ...volumesIn(disks), ...recorded, ...roots.filter((one) => one !== undefined)]
  return [...new Set([...Object.values(vmChildNames(name)), ...claims])].map((child) =>
    keyOf({ namespace, name: child }),
  )
}

function namedSecretsOf({ spec, metadata: { namespace = '' } }: MachineView): readonly string[] {
  const { users, userDataSecretRef } = (spec ?? {}) as LooseSpec
  const passwords = Array.isArray(users) ? users.map((user) => user?.passwordSecretRef?.name) : []
  const names = [...passwords, userDataSecretRef?.name].filter((name) => typeof name === 'string')
  return [...new Set(names)].map((name) => keyOf({ namespace, name }))
}
