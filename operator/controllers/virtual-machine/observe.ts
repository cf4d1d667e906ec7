import { LABELS } from '@open-terrain/constructs'
import { vmChildNames } from '@open-terrain/constructs/operator'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import { differences } from '../../images/decide/ensure-image.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type ClaimsOn, hasOthers, referenceOf } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, namespaceOf, type ResourceType } from '../../kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import type { Readable } from '../../runtime/store.ts'
import { imageOf, type MachineCaches, parsedMachineSpec } from './caches.ts'
import { hasDisk } from './decide/machine-plan.ts'
import { storageClassOf } from './decide/plan-children.ts'
import { furtherDisksOf } from './further-disks.ts'
import { isLeftTo, restoreOf } from './restores.ts'
import { isAwaited, roomFor } from './room.ts'
import { otherRootsOf, rootNameOf } from './root-disks.ts'
import type { ClaimFacts, MachineView, MachineWorld } from './world.ts'

/** Observes a machine from caches only. The caller passes the cloud-init data, and adds what blocks a start. */
export function observeMachine(
  vm: MachineView,
  caches: MachineCaches,
  {
    claimsOn,
    ...more
  }: Pick<MachineWorld, 'policy' | 'cloudInit' | 'refusal' | 'serverNow'> & { readonly claimsOn: ClaimsOn },
): MachineWorld {
  const { images, cluster, reflectors } = caches
  const [imageKey] = imageOf(vm)
  const image = imageKey === undefined ? undefined : images.get(imageKey)
  const spec = parsedMachineSpec(vm)
  const others = childrenAt(vm, caches)
  const machine = ours(vm, others.machine)
  const rootName = rootNameOf(vm, machine, cluster.dataVolumes)
  const found = { ...others, ...rootAt(vm, rootName, caches) }
  const restore = restoreOf(vm, rootName, machine, ours(vm, found.clone), cluster.claims)
  const disk = restore.isDiskElsewhere
    ? restoredDisk(vm, restore.restoredClaim, cluster.claims)
    : diskOf(vm, found, machine)
  const hasSource = (source: CloneSource | undefined) => sourceExists(source, caches)
  const further = furtherDisksOf(vm, spec, machine, { ...cluster, images, hasSource })
  const roots = otherRootsOf(vm, rootName, machine, { ...cluster, hasSource }, cloneSourceIn(image))
  return {
    vm,
    spec,
    ...more,
    namespaceTerminating: isTerminating(cluster.namespaces.get(vm.metadata.namespace ?? '')),
    hasDataVolumes: reflectors.isInstalled(DATA_VOLUME),
    hasKubeVirt: reflectors.isInstalled(KUBEVIRT_VIRTUAL_MACHINE),
    image,
    ...(image === undefined && { imageWithHash: caches.imageWithHash(imageKey ?? '') }),
    ...referrersOf(vm, image, spec, claimsOn),
    imageNamespace: namespaceState(cluster.namespaces.get(namespaceOf(imageKey ?? ''))),
    rootName,
    ...roots,
    ...(isAwaited(roots.next) && { room: roomFor(vm, disk.claim, caches) }),
    ...disk,
    disks: further.disks,
    diskClaims: further.diskClaims,
    diskClones: further.diskClones,
    strayClones: further.strayClones,
    storageClass: cluster.storageClasses.get(storageClassOf(image) ?? ''),
    hasCloneSource: hasSource(disk.clone === undefined ? cloneSourceIn(image) : disk.clone.cloneOf),
    secret: ours(vm, found.secret),
    machine,
    instance: machine && ours(machine, found.instance),
    ...restore,
    // Nothing needs the names of DataVolume and claim any more once a restore has given the machine another claim.
    ...namesakes(
      vm,
      restore.isDiskElsewhere ? { ...found, clone: undefined, claim: undefined } : found,
      disk.claim,
      further.foreign,
    ),
    // Found by a live look, and only if the rest of the world shows that the machine is starting.
    obstacle: undefined,
    // Asked only if the rest of the world shows that the machine waits for one.
    neighbours: {},
  }
}

/** Returns the objects that have the name of its root disk, regardless of their owner. */
function rootAt({ metadata: { namespace = '' } }: MachineView, name: string, { cluster }: MachineCaches) {
  const key = keyOf({ namespace, name })
  return { clone: cluster.dataVolumes.get(key), claim: cluster.claims.get(key) }
}

/** Returns the other objects that have the names the machine needs, regardless of their owner. */
function childrenAt({ metadata: { namespace = '', name } }: MachineView, caches: MachineCaches) {
  const { cluster, kubevirt, instances } = caches
  const names = vmChildNames(name)
  const at = <T extends KubeObject>(store: Readable<T>, child: string) => store.get(keyOf({ namespace, name: child }))
  return {
    secret: at(cluster.secrets, names.cloudInit),
    machine: at(kubevirt, names.machine),
    instance: at(instances, names.machine),
  }
}

function ours<T extends KubeObject>(owner: KubeObject, object: T | undefined): T | undefined {
  return object !== undefined && isChildOf(object, owner) ? object : undefined
}

/**
 * Returns the root disk, by name. A claim is ours if our DataVolume owns it, or if it outlived our DataVolume: CDI copies our label to it. After a
 * restore in place, CDI is to make our DataVolume its owner, or KubeVirt's machine is its owner.
 */
function diskOf<T extends KubeObject>(
  vm: MachineView,
  found: { clone: T | undefined; claim: ClaimFacts | undefined },
  machine?: KubeObject,
) {
  const { claim } = found
  const clone = ours(vm, found.clone)
  const owners = [clone, machine].filter((owner) => owner !== undefined)
  const isOwned = claim !== undefined && owners.some((owner) => isChildOf(claim, owner))
  const isOurs = isOwned || isLeftTo(clone, claim) || claim?.metadata.labels?.[LABELS.vmUid] === vm.metadata.uid
  return { clone, claim: isOurs ? claim : undefined, foreignClaim: isOurs ? undefined : titleOf(claim) }
}

/** Returns the root disk that a restore of KubeVirt has made. Our DataVolume has the disk from before, and is not used. */
function restoredDisk({ metadata: { namespace = '' } }: MachineView, name = '', claims: Readable<ClaimFacts>) {
  return { clone: undefined, claim: claims.get(keyOf({ namespace, name })), foreignClaim: undefined }
}

/** Reports whether the objects found by a live look are a disk of the machine. */
export function hasMachineDisk(found: readonly KubeObject[], vm: MachineView): boolean {
  const firstOf = ({ kind }: ResourceType) => found.find((one) => one.kind === kind)
  return hasDisk(diskOf(vm, { clone: firstOf(DATA_VOLUME), claim: firstOf(PERSISTENT_VOLUME_CLAIM) }))
}

/**
 * Returns the objects that have a name the machine needs but are not ours.
 * @param ourClaim the claim of its disk, if it has one
 * @param more others that have such a name
 */
function namesakes(
  vm: MachineView,
  { clone, claim, secret, machine }: ReturnType<typeof childrenAt> & ReturnType<typeof rootAt>,
  ourClaim: KubeObject | undefined,
  more: readonly KubeObject[],
): Pick<MachineWorld, 'conflict' | 'leaving' | 'orphan'> {
  const { uid } = vm.metadata
  const others = [clone, secret, machine].filter((object) => ours(vm, object) === undefined)
  const taken = [...others, claim === ourClaim ? undefined : claim, ...more].filter((object) => object !== undefined)
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

/** Returns what else refers to the image, where its template might correct it. Thousands of machines may refer to one image. */
function referrersOf(
  vm: MachineView,
  image: ImageView | undefined,
  spec: MachineWorld['spec'],
  claimsOn: ClaimsOn,
): Pick<MachineWorld, 'imageClaims' | 'isImageShared'> {
  const template = spec.ok ? spec.spec.vmDiskImageTemplate : undefined
  const mayBeCorrected = image !== undefined && template !== undefined && image.status.artifact === undefined
  if (!mayBeCorrected || differences(template, image).length === 0) return { imageClaims: [], isImageShared: false }
  const imageClaims = claimsOn(image.metadata)
  return {
    imageClaims,
    isImageShared: hasOthers(image, new Set([referenceOf(vm), ...imageClaims.map(({ by }) => by)])),
  }
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
