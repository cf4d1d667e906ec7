import { LABELS, parseVirtualMachineSpec, vmChildNames } from '@open-terrain/constructs'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE, referenceOf } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, namespaceOf, type ResourceType } from '../../kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { memoized } from '../../runtime/memoized.ts'
import type { Readable } from '../../runtime/store.ts'
import { imageOf, type MachineCaches } from './caches.ts'
import { hasDisk } from './decide/machine-plan.ts'
import { storageClassOf } from './decide/plan-children.ts'
import type { MachineView, MachineWorld } from './world.ts'

/** Observes a machine from caches only. The caller passes the cloud-init data, and adds what blocks a start. */
export function observeMachine(
  vm: MachineView,
  caches: MachineCaches,
  more: Pick<MachineWorld, 'policy' | 'cloudInit' | 'refusal'>,
): MachineWorld {
  const { images, cluster, reflectors } = caches
  const [imageKey] = imageOf(vm)
  const image = imageKey === undefined ? undefined : images.get(imageKey)
  const found = childrenAt(vm, caches)
  const disk = diskOf(vm, found)
  const machine = ours(vm, found.machine)
  return {
    vm,
    spec: parsedMachineSpec(vm.spec),
    ...more,
    namespaceTerminating: isTerminating(cluster.namespaces.get(vm.metadata.namespace ?? '')),
    hasDataVolumes: reflectors.isInstalled(DATA_VOLUME),
    hasKubeVirt: reflectors.isInstalled(KUBEVIRT_VIRTUAL_MACHINE),
    image,
    isImageShared: isImageShared(vm, image, caches),
    imageNamespace: namespaceState(cluster.namespaces.get(namespaceOf(imageKey ?? ''))),
    ...disk,
    storageClass: cluster.storageClasses.get(storageClassOf(image) ?? ''),
    hasCloneSource: sourceExists(disk.clone === undefined ? cloneSourceIn(image) : disk.clone.cloneOf, caches),
    secret: ours(vm, found.secret),
    machine,
    instance: machine && ours(machine, found.instance),
    ...namesakes(vm, found, disk.claim),
    // Found by a live look, and only if the rest of the world shows that the machine is starting.
    obstacle: undefined,
  }
}

/** Returns the objects that have the names the machine needs, regardless of their owner. */
function childrenAt({ metadata: { namespace = '', name } }: MachineView, caches: MachineCaches) {
  const { cluster, kubevirt, instances } = caches
  const names = vmChildNames(name)
  const at = <T extends KubeObject>(store: Readable<T>, child: string) => store.get(keyOf({ namespace, name: child }))
  return {
    clone: at(cluster.dataVolumes, names.clone),
    claim: at(cluster.claims, names.clone),
    secret: at(cluster.secrets, names.cloudInit),
    machine: at(kubevirt, names.machine),
    instance: at(instances, names.machine),
  }
}

function ours<T extends KubeObject>(owner: KubeObject, object: T | undefined): T | undefined {
  return object !== undefined && isChildOf(object, owner) ? object : undefined
}

/** Returns the root disk, by name. A claim is ours if our DataVolume owns it, or if it outlived our DataVolume: CDI copies our label to it. */
function diskOf<T extends KubeObject>(vm: MachineView, found: { clone: T | undefined; claim: KubeObject | undefined }) {
  const { claim } = found
  const clone = ours(vm, found.clone)
  const isOfClone = clone !== undefined && claim !== undefined && isChildOf(claim, clone)
  const isOurs = isOfClone || claim?.metadata.labels?.[LABELS.vmUid] === vm.metadata.uid
  return { clone, claim: isOurs ? claim : undefined, foreignClaim: isOurs ? undefined : titleOf(claim) }
}

/** Reports whether the objects found by a live look are a disk of the machine. */
export function hasMachineDisk(found: readonly KubeObject[], vm: MachineView): boolean {
  const firstOf = ({ kind }: ResourceType) => found.find((one) => one.kind === kind)
  return hasDisk(diskOf(vm, { clone: firstOf(DATA_VOLUME), claim: firstOf(PERSISTENT_VOLUME_CLAIM) }))
}

/** Returns the objects that have a name the machine needs but are not ours. @param ourClaim the claim of its disk, if it has one */
function namesakes(
  vm: MachineView,
  { clone, claim, secret, machine }: ReturnType<typeof childrenAt>,
  ourClaim: KubeObject | undefined,
): Pick<MachineWorld, 'conflict' | 'leaving' | 'orphan'> {
  const { uid } = vm.metadata
  const others = [clone, secret, machine].filter((object) => ours(vm, object) === undefined)
  const taken = [...others, claim === ourClaim ? undefined : claim].filter((object) => object !== undefined)
  const staying = taken.filter((object) => !isTerminating(object))
  // Its label says that it was made for the machine, and it has no controller any more.
  const isOrphan = (object: KubeObject) =>
    uid !== undefined && object.metadata.labels?.[LABELS.vmUid] === uid && isOrphaned(object)
  // CDI itself waits until a claim in the place of our DataVolume's claim is gone.
  const leaving = taken.find((object) => isTerminating(object) && (object !== claim || clone === undefined))
  return {
    conflict: titleOf(staying.find((object) => !isOrphan(object))),
    leaving: titleOf(leaving),
    orphan: titleOf(staying.find(isOrphan)),
  }
}

function titleOf(object: KubeObject | undefined): string | undefined {
  return object && `${object.kind} ${object.metadata.name}${object.kind === 'VirtualMachine' ? ' of KubeVirt' : ''}`
}

/** Reports whether anything else refers to the image. Machines are counted in the cache, which shows them first; its status shows all others. */
function isImageShared(vm: MachineView, image: ImageView | undefined, { machines }: MachineCaches): boolean {
  if (image === undefined) return false
  const { names = [] } = image.status.references ?? {}
  return machines.count(BY_IMAGE, keyOf(image.metadata)) > 1 || names.some((name) => name !== referenceOf(vm))
}

/** Returns the source that a disk would be cloned from. */
function cloneSourceIn(image: ImageView | undefined): CloneSource | undefined {
  const { artifact } = image?.status ?? {}
  return artifact && { kind: artifact.kind, namespace: image?.metadata.namespace ?? '', name: artifact.name }
}

function sourceExists(source: CloneSource | undefined, { cluster }: MachineCaches): boolean {
  if (source === undefined) return true
  const { snapshots, claims, dataSources } = cluster
  const stores = { VolumeSnapshot: snapshots, PersistentVolumeClaim: claims, DataSource: dataSources }
  return stores[source.kind].get(keyOf({ namespace: source.namespace, name: source.name })) !== undefined
}

export const parsedMachineSpec = memoized(parseVirtualMachineSpec)
