import { GROUP, VERSION } from '@open-terrain/constructs'
import {
  type DataSyncSpec,
  dataSync,
  dataSyncImageName,
  fillImageUrl,
  parseQuantity,
  type VirtualMachineSpec,
  type VMDiskImageSpec,
  virtualMachine,
  type WorkspaceSpec,
  workspace,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { addressOf, type ImageServer } from '../image-server/image-server.ts'
import { type Manifest, readManifests } from './manifests.ts'

const MIB = 2 ** 20
/** Slow enough to be watched: with the sizes below a download takes 2 to 8 seconds. */
const BYTES_PER_SECOND = 4 * MIB
/** An image is served with one byte for so many of its disk. */
const SCALE = 1_024n

/** What happens to an image in the demo. */
export type Role = 'good' | 'refreshed' | 'failing' | 'late' | 'deleted' | 'templated' | 'released' | 'workspace'

export interface Performer {
  readonly name: string
  readonly role: Role
  /** The image, the virtual machine from whose template it is created, or the DataSync or Workspace that has it created. */
  readonly manifest: Manifest
  /** Undefined for an empty disk. */
  readonly url: string | undefined
  /** Bytes of one download. For the failing image: the bytes that its source sends before it cuts the connection. */
  readonly bytes: number
}

export const REFRESHED = 'ubuntu-24-04'
export const FAILING = 'broken-mirror'
export const LATE = 'late-secret'
export const DELETED = 'wrong-order'
export const TEMPLATED = 'lab-154-analyst'
export const MACHINE_NAME = 'analyst'
export const RELEASE = 'sync-workspace-123'
/** Has an image made in a namespace of its own. */
export const WORKSPACE_NAME = 'demo-workspace-1'
export const IMAGE_URL_TEMPLATE = 'https://images.example.com/{baseVm}/{version}/{name}.qcow2'
/** Size of the image of the workspace. */
const WORKSPACE_IMAGE_BYTES = 8 * MIB
/** A point in time of the workspace, in its namespace. */
export const POINT_NAME = 'before-exam'
/** Another pipeline releases the same images with it. */
export const SAME_RELEASE = 'same-images-elsewhere'
export const LATE_SECRET = 'arrives-later'
/** They follow each other in the queue, behind {@link REFRESHED}, and download until the limit has been lowered. */
export const LASTING: readonly string[] = ['windows-2022', 'lab-152-domain-controller', 'lab-152-workstation']

const CUT_AFTER_BYTES = 6 * MIB

function sceneImage(name: string, spec: VMDiskImageSpec): Manifest {
  const classes = { storageClass: 'gp3', snapshotClass: 'ebs-snapshot' }
  return { apiVersion: `${GROUP}/${VERSION}`, kind: 'VMDiskImage', metadata: { name }, spec: { ...classes, ...spec } }
}

const BROKEN = sceneImage(FAILING, {
  url: 'https://mirror.example.com/images/broken.qcow2',
  sourceType: 'http',
  diskSize: '16Gi',
})
const WITHOUT_SECRET = sceneImage(LATE, {
  url: 'https://s3.us-gov-west-1.amazonaws.com/uki-lrn-vm-images/images/lab-160/1.0.0/vault.qcow2',
  sourceType: 's3',
  secretRef: LATE_SECRET,
  diskSize: '12Gi',
})
const ORDERED_BY_MISTAKE = sceneImage(DELETED, {
  url: 'https://images.example.com/not-this-one.qcow2',
  sourceType: 'http',
  diskSize: '40Gi',
})

/**
 * Returns all images, in the order of their creation. The one that is deleted is placed where others wait behind it;
 * the one of the machine, where enough wait before it.
 */
export async function gatherCast(): Promise<Performer[]> {
  const files = ['vmdiskimage.yaml', 'fleet.yaml', 'lab-machine.yaml', 'datasync.yaml']
  const [proposed = [], fleet = [], machine = [], release = []] = await Promise.all(files.map(readManifests))
  const others = fleet.toSpliced(10, 0, ORDERED_BY_MISTAKE).toSpliced(4, 0, ...machine)
  const manifests = [...proposed, BROKEN, WITHOUT_SECRET, ...others, ...release]
  const images = manifests.flatMap((manifest) =>
    imagesIn(manifest).map(({ name, spec: { url, diskSize } }) => {
      const whole = Number((parseQuantity(String(diskSize)) ?? 0n) / SCALE)
      const bytes = url === undefined ? 0 : name === FAILING ? CUT_AFTER_BYTES : whole
      const role: Role = manifest.kind === dataSync.kind ? 'released' : roleOf(name)
      return { name, role, manifest, url, bytes }
    }),
  )
  return [...images, await gatherWorkspace()]
}

/** Returns the workspace of the proposal. Its machine is deployed, so that all kinds of components show. */
async function gatherWorkspace(): Promise<Performer> {
  const [manifest] = await readManifests('workspace.yaml')
  const { vms = [], ...spec } = (manifest?.spec ?? {}) as WorkspaceSpec
  const [vm] = vms
  if (manifest?.kind !== workspace.kind || vm?.backingVMDiskImage === undefined)
    throw new Error('workspace.yaml of the examples has no Workspace with a machine')
  const { name, version, baseVm, baseVmVersion } = vm
  const url = fillImageUrl(IMAGE_URL_TEMPLATE, { image: vm.backingVMDiskImage, name, version, baseVm, baseVmVersion })
  if (!url.ok) throw new Error(`the machine of workspace.yaml does not fit ${IMAGE_URL_TEMPLATE}`)
  return {
    name: vm.backingVMDiskImage,
    role: 'workspace',
    manifest: { ...manifest, spec: { ...spec, vms: [{ ...vm, ignoreOnDeploy: false }] } },
    url: url.url,
    bytes: WORKSPACE_IMAGE_BYTES,
  }
}

/** Returns the WorkspaceSnapshot of the examples. */
export async function gatherPoint(): Promise<Manifest> {
  const [manifest] = await readManifests('workspacesnapshot.yaml')
  if (manifest?.kind !== workspaceSnapshot.kind)
    throw new Error('workspacesnapshot.yaml of the examples has no WorkspaceSnapshot')
  return manifest
}

/** Returns the images of the DataSync. */
export function releasedIn(cast: readonly Performer[]): Performer[] {
  return cast.filter(({ role }) => role === 'released')
}

interface ImageIn {
  readonly name: string
  readonly spec: VMDiskImageSpec
}

function imagesIn({ kind, metadata, spec }: Manifest): ImageIn[] {
  if (kind === dataSync.kind) {
    const { vms, ...shared } = spec as DataSyncSpec
    return vms.map((vm) => ({ name: dataSyncImageName({ ...shared, vm: vm.name }), spec: { ...shared, ...vm } }))
  }
  return [
    kind === virtualMachine.kind
      ? templateIn({ metadata, spec })
      : { name: metadata.name, spec: spec as VMDiskImageSpec },
  ]
}

function templateIn({ metadata, spec }: Pick<Manifest, 'metadata' | 'spec'>): ImageIn {
  const { vmDiskImageRef, vmDiskImageTemplate } = spec as VirtualMachineSpec
  if (vmDiskImageTemplate === undefined) throw new Error(`VirtualMachine ${metadata.name} has no template`)
  return { name: vmDiskImageRef.name, spec: vmDiskImageTemplate }
}

function roleOf(name: string): Role {
  switch (name) {
    case REFRESHED:
      return 'refreshed'
    case FAILING:
      return 'failing'
    case LATE:
      return 'late'
    case DELETED:
      return 'deleted'
    case TEMPLATED:
      return 'templated'
    default:
      return 'good'
  }
}

/**
 * Configures the image server: the size and speed of each image, and which download breaks off. A download that a scene
 * depends on cannot finish before that scene, however late a busy machine gets to it. The rest of the {@link LASTING}
 * images is sent when `isLowered` resolves. The rest of the deleted image is never sent.
 */
export function stock(imageServer: ImageServer, cast: readonly Performer[], isLowered: Promise<unknown>): void {
  for (const { name, url, role, bytes } of cast) {
    if (url === undefined) continue
    const rule = { ...addressOf(url), exact: true, bytesPerSecond: BYTES_PER_SECOND, sizeBytes: bytes }
    if (role === 'failing') imageServer.set({ ...rule, sizeBytes: 4 * bytes, fault: { cutAfterBytes: bytes } })
    else if (role === 'deleted') imageServer.set({ ...rule, fault: { stallAfterBytes: bytes / 2 } })
    else if (LASTING.includes(name)) imageServer.set({ ...rule, hold: { afterBytes: bytes / 2, until: isLowered } })
    else imageServer.set(rule)
  }
}
