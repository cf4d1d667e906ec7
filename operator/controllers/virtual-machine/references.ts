import { LABELS } from '@open-terrain/constructs'
import {
  diskClaimName,
  rootDiskGeneration,
  rootDiskName,
  type VMDiskImageSpec,
  workspace,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { controllerOfKind, isChildOf, ownerAmong } from '../../cluster/ownership.ts'
import { BY_IMAGE, type ImageClaim, type ReferenceSource, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listAll, listWhole } from '../../kube/list-all.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import { SharedReads } from '../../kube/shared-reads.ts'
import { bounded, KEPT_MAX } from '../../runtime/foreign.ts'
import { stopAll } from '../../runtime/stops.ts'
import {
  BY_FORMER_IMAGE,
  diskImageOf,
  formerImageOf,
  imageDisksIn,
  imageOf,
  imagesNamedBy,
  MACHINE,
  type MachineCaches,
  parsedMachineSpec,
  viewMachine,
} from './caches.ts'
import type { CloneFacts, MachineView } from './world.ts'

/** The part of a machine's disk that shows whether it needs an image. */
type Disk = KubeObject & Pick<CloneFacts, 'phase'>
/** A disk as the API server sends it. */
type StoredDisk = KubeObject & { readonly status?: { readonly phase?: string } }

/**
 * Counts machines as references to an image: every machine that names it, for its root disk or another one. Machines that have, or are making, a disk of
 * it are also users.
 * A machine that names another image since its disk was made becomes a user of the new image only once it has a disk of it. It stays a
 * user of the first image until the disk is complete.
 */
export class MachineReferences implements ReferenceSource {
  readonly #live: SharedReads<Awaited<ReturnType<typeof listMachines>>>
  readonly #caches: MachineCaches

  constructor(client: KubeClient, caches: MachineCaches) {
    this.#live = new SharedReads((_all, signal) => listMachines(client, signal))
    this.#caches = caches
  }

  cached(image: ObjectKey) {
    const { machines, cluster } = this.#caches
    const key = keyOf(image)
    const found = new Set([...machines.find(BY_IMAGE, key), ...machines.find(BY_FORMER_IMAGE, key)])
    return count(key, [...found], cluster.dataVolumes)
  }

  /** A machine that has its disk wants nothing of the image any more. For that of a Workspace, the Workspace says what is wanted. */
  claims(image: ObjectKey): readonly ImageClaim[] {
    return this.#caches.machines.find(BY_IMAGE, keyOf(image)).map((vm): ImageClaim => {
      const by = referenceOf(vm)
      const parsed = parsedMachineSpec(vm)
      const isOfRoot = imageOf(vm).includes(keyOf(image))
      const wants = !isOfRoot ? undefined : parsed.ok ? parsed.spec.vmDiskImageTemplate : ({} satisfies VMDiskImageSpec)
      if (isOfRoot && vm.status.clone?.phase === 'Succeeded') return { by, wants: undefined }
      if (wants !== undefined || controllerOfKind(vm, workspace) !== undefined) return { by, wants }
      return { by, wants, isKeeper: true }
    })
  }

  /** Counts by live lists that begin after this call. Callers that wait at the same time share them. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal) {
    const key = keyOf(image)
    const { machines, disks } = await this.#live.take('', signal)
    return count(key, machines.get(key) ?? [], disks)
  }

  /** Calls the listener with the `<namespace>/<name>` of each image whose references may have changed. Returns a function that stops this. */
  onChange(listener: (imageKey: string) => void): () => void {
    const { machines, cluster } = this.#caches
    return stopAll([
      machines.onChange(({ before, after }) => {
        if (isSame(named(before), named(after))) return
        for (const key of new Set([before, after].flatMap(imagesOf))) listener(key)
      }),
      cluster.dataVolumes.onChange(({ before, after }) => {
        const [was, is] = [progressOf(before), progressOf(after)]
        if (was === is) return
        const object = after ?? before
        const vm = object && ownerAmong(object, machines)
        if (vm === undefined) return
        // A disk that appears or disappears changes whether its machine is a user. A disk that is complete releases the former image.
        const cameOrWent = was === 'none' || is === 'none'
        for (const key of cameOrWent ? imagesOf(vm) : formerImageOf(vm)) listener(key)
      }),
    ])
  }
}

/** Lists all machines, by key of each image that they may refer to, and their disks. */
async function listMachines(client: KubeClient, signal: AbortSignal) {
  const machines = new Map<string, MachineView[]>()
  for await (const vm of listAll(client, MACHINE, { signal, project: viewReference })) {
    for (const image of imagesOf(vm)) {
      const those = machines.get(image)
      if (those === undefined) machines.set(image, [vm])
      else those.push(vm)
    }
  }
  const disks = await listWhole(client, DATA_VOLUME, { signal, labelSelector: LABELS.vmUid, project: viewDisk })
  return { machines, disks: new Map(disks.map((disk) => [keyOf(disk.metadata), disk])) }
}

/** Keeps only what makes a machine a reference, because the lists contain all machines. */
function viewReference(object: KubeObject): MachineView {
  const { apiVersion, kind, metadata, spec, status } = viewMachine(object)
  const { name, namespace = '', uid = '' } = metadata
  const { vmDiskImageRef, disks } = (spec ?? {}) as { readonly vmDiskImageRef?: unknown; readonly disks?: unknown }
  const { clone, replacement } = status
  const images = { vmDiskImageRef, ...(disks !== undefined && { disks: imageDisksIn(disks) }) }
  return { apiVersion, kind, metadata: { name, namespace, uid }, spec: images, status: { clone, replacement } }
}

function viewDisk({ apiVersion, kind, metadata, status }: StoredDisk): Disk {
  const { name, namespace, uid, ownerReferences } = metadata
  const phase = status?.phase ?? ''
  return bounded({ apiVersion, kind, metadata: { name, namespace, uid, ownerReferences }, phase } as Disk, KEPT_MAX)
}

/** Returns the keys of the images that a machine may refer to. */
function imagesOf(vm: MachineView | undefined): readonly string[] {
  return vm === undefined ? [] : [...new Set([...imagesNamedBy(vm), ...formerImageOf(vm)])]
}

function progressOf(disk: Disk | undefined): 'none' | 'unfinished' | 'complete' {
  if (disk === undefined) return 'none'
  return disk.phase === 'Succeeded' ? 'complete' : 'unfinished'
}

function count(image: string, machines: readonly MachineView[], disks: { get(key: string): Disk | undefined }) {
  const names: string[] = []
  const users: string[] = []
  for (const vm of machines) {
    const { namespace = '', name } = vm.metadata
    const rootAt = (root: string | undefined = '') => {
      const disk = disks.get(keyOf({ namespace, name: root }))
      return disk !== undefined && isChildOf(disk, vm) ? disk : undefined
    }
    const { clone, replacement } = vm.status
    const present = rootAt(rootNameIn(name, clone))
    const next = rootAt(replacement?.disk.name)
    const isOfRoot = present !== undefined && needs(vm, present, image, clone)
    const isOfNext = next !== undefined && needs(vm, next, image, replacement?.disk)
    const isUser = isOfRoot || isOfNext || hasFurtherDisk(vm, image, disks)
    const title = referenceOf(vm)
    if (isUser) users.push(title)
    if (isUser || imagesNamedBy(vm).includes(image)) names.push(title)
  }
  return referencesOf(names, users)
}

/** Reports whether a machine has, or is making, another disk than its root disk that its spec has from the image. Its name tells its image. */
function hasFurtherDisk(vm: MachineView, image: string, disks: { get(key: string): Disk | undefined }): boolean {
  const { namespace = '', name } = vm.metadata
  const wanted = imageDisksIn((vm.spec as { readonly disks?: unknown } | undefined)?.disks)
  return wanted.some((one) => {
    if (diskImageOf(vm, one) !== image) return false
    const disk = disks.get(keyOf({ namespace, name: diskClaimName(name, one.name, one.vmDiskImageRef.name) }))
    return disk !== undefined && isChildOf(disk, vm)
  })
}

/** Returns the name of the root disk of a machine. The status may be of an older version, or say nothing yet. */
function rootNameIn(name: string, clone: MachineView['status']['clone']): string {
  const isKnown = clone !== undefined && rootDiskGeneration(name, clone.name) !== undefined
  return isKnown ? clone.name : rootDiskName(name, 1)
}

/** Reports whether a machine with this root disk keeps the image from being deleted. */
function needs(vm: MachineView, disk: Disk, image: string, record: MachineView['status']['clone']): boolean {
  const isNamed = imageOf(vm).includes(image)
  const { image: noted, uid } = record ?? {}
  // The status may describe an earlier disk.
  const isAboutIt = noted !== undefined && (uid === undefined || uid === disk.metadata.uid)
  if (!isAboutIt) return isNamed
  return noted === image && (isNamed || progressOf(disk) === 'unfinished')
}

/** Returns the fields that make a machine a reference to its images. */
function named(vm: MachineView | undefined): unknown {
  return vm && [vm.metadata.uid, imagesNamedBy(vm), formerImageOf(vm)]
}
