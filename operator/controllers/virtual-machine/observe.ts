import { LABELS, parseVirtualMachineSpec, vmChildNames } from '@open-terrain/constructs'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import { isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE, referenceOf } from '../../images/references.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { memoized } from '../../runtime/memoized.ts'
import { imageOf, type MachineCaches } from './caches.ts'
import { hasDisk } from './decide/machine-plan.ts'
import { storageClassOf } from './decide/plan-children.ts'
import type { MachineView } from './views.ts'
import type { MachineWorld } from './world.ts'

/** All but the cloud-init data, and what is in the way of a start, comes from caches. */
export function observeMachine(
  vm: MachineView,
  caches: MachineCaches,
  more: Pick<MachineWorld, 'policy' | 'cloudInit' | 'refusal'>,
): MachineWorld {
  const { images, cluster } = caches
  const { namespace = '', name } = vm.metadata
  const names = vmChildNames(name)
  const key = (child: string) => keyOf({ namespace, name: child })
  const ours = <T extends KubeObject>(object: T | undefined) =>
    object !== undefined && isChildOf(object, vm) ? object : undefined
  const [imageKey] = imageOf(vm)
  const disk = diskOf(vm, cluster.dataVolumes.get(key(names.clone)), cluster.claims.get(key(names.clone)))
  const { clone } = disk
  const machine = ours(caches.kubevirt.get(key(names.machine)))
  const instance = caches.instances.get(key(names.machine))
  const image = imageKey === undefined ? undefined : images.get(imageKey)
  return {
    vm,
    spec: parsedMachineSpec(vm.spec),
    ...more,
    namespaceTerminating: namespaceState(cluster.namespaces.get(namespace)) === 'terminating',
    hasDataVolumes: caches.reflectors.isInstalled(DATA_VOLUME),
    hasKubeVirt: caches.reflectors.isInstalled(KUBEVIRT_VIRTUAL_MACHINE),
    image,
    isImageShared: isImageShared(vm, image, caches),
    imageNamespace: namespaceState(cluster.namespaces.get(namespaceOf(imageKey ?? ''))),
    ...disk,
    storageClass: cluster.storageClasses.get(storageClassOf(image) ?? ''),
    hasCloneSource: sourceExists(clone === undefined ? artifactOf(image) : clone.cloneOf, caches),
    secret: ours(cluster.secrets.get(key(names.cloudInit))),
    machine,
    instance: machine !== undefined && instance !== undefined && isChildOf(instance, machine) ? instance : undefined,
    ...namesakes(vm, disk.claim, caches),
    // Looked for live, and only where the rest of it says that the machine is starting.
    obstacle: undefined,
  }
}

/**
 * The root disk, by what has its name. Ours is the claim of our DataVolume, or one that outlived it: CDI copies our label there.
 * @param clone DataVolume of that name
 * @param claim PersistentVolumeClaim of that name
 */
export function diskOf<T extends KubeObject>(
  vm: MachineView,
  clone: T | undefined,
  claim: KubeObject | undefined,
): { clone: T | undefined; claim: KubeObject | undefined; foreignClaim: string | undefined } {
  const ourClone = clone !== undefined && isChildOf(clone, vm) ? clone : undefined
  const none = { clone: ourClone, claim: undefined, foreignClaim: undefined }
  if (claim === undefined) return none
  const isOfClone = ourClone !== undefined && isChildOf(claim, ourClone)
  const isOurs = isOfClone || claim.metadata.labels?.[LABELS.vmUid] === vm.metadata.uid
  return isOurs ? { ...none, claim } : { ...none, foreignClaim: titleOf(claim) }
}

/** Whether what a live look has found is a disk of the machine. */
export function hasMachineDisk(found: readonly KubeObject[], vm: MachineView): boolean {
  const [clone, claim] = [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM].map(({ kind }) =>
    found.find((one) => one.kind === kind),
  )
  return hasDisk(diskOf(vm, clone, claim))
}

/**
 * What has a name that the machine needs, and is not ours.
 * @param ours the claim of its disk, where it has one
 */
function namesakes(
  vm: MachineView,
  ours: KubeObject | undefined,
  { cluster, kubevirt }: MachineCaches,
): Pick<MachineWorld, 'conflict' | 'leaving' | 'orphan'> {
  const { namespace = '', name } = vm.metadata
  const names = vmChildNames(name)
  const key = (child: string) => keyOf({ namespace, name: child })
  const clone = cluster.dataVolumes.get(key(names.clone))
  const claim = cluster.claims.get(key(names.clone))
  const children = [clone, cluster.secrets.get(key(names.cloudInit)), kubevirt.get(key(names.machine))]
  const taken = [
    ...children.filter((object) => object !== undefined && !isChildOf(object, vm)),
    ...(claim === ours ? [] : [claim]),
  ].filter((object) => object !== undefined)
  const staying = taken.filter((object) => !isGoing(object))
  const conflict = staying.find((object) => !isOrphanOf(vm, object))
  const orphan = staying.find((object) => isOrphanOf(vm, object))
  // A claim in the place of that of our DataVolume is CDI's to wait for.
  const leaving = taken.find((object) => isGoing(object) && (object !== claim || clone === undefined))
  return {
    conflict: conflict && titleOf(conflict),
    leaving: leaving && titleOf(leaving),
    orphan: orphan && titleOf(orphan),
  }
}

/** By its label it was made for the machine, and nothing owns it any more. */
function isOrphanOf({ metadata: { uid } }: MachineView, object: KubeObject): boolean {
  return isOrphaned(object) && uid !== undefined && object.metadata.labels?.[LABELS.vmUid] === uid
}

function isGoing({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}${kind === 'VirtualMachine' ? ' of KubeVirt' : ''}`
}

/** Machines are counted where they are seen first; its own status tells of all others who refer to it. */
function isImageShared(vm: MachineView, image: ImageView | undefined, { machines }: MachineCaches): boolean {
  if (image === undefined) return false
  const { names = [] } = image.status.references ?? {}
  return machines.count(BY_IMAGE, keyOf(image.metadata)) > 1 || names.some((name) => name !== referenceOf(vm))
}

/** What a disk would be cloned from. */
function artifactOf(image: ImageView | undefined): CloneSource | undefined {
  const { artifact } = image?.status ?? {}
  return artifact && { kind: artifact.kind, namespace: image?.metadata.namespace ?? '', name: artifact.name }
}

function sourceExists(source: CloneSource | undefined, { cluster }: MachineCaches): boolean {
  if (source === undefined) return true
  const key = keyOf({ namespace: source.namespace, name: source.name })
  switch (source.kind) {
    case 'VolumeSnapshot':
      return cluster.snapshots.get(key) !== undefined
    case 'PersistentVolumeClaim':
      return cluster.claims.get(key) !== undefined
    default:
      return cluster.dataSources.get(key) !== undefined
  }
}

/** What can be done in a namespace, as its cache has it. */
export function namespaceState(namespace: KubeObject | undefined): MachineWorld['imageNamespace'] {
  if (namespace === undefined) return 'missing'
  return namespace.metadata.deletionTimestamp === undefined ? 'there' : 'terminating'
}

export const parsedMachineSpec = memoized(parseVirtualMachineSpec)
