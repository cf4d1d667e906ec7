import {
  FINALIZERS,
  parseVirtualMachineSpec,
  USER_DATA_BEGINNINGS,
  type VirtualMachineSpec,
  vmDiskImage,
  WINDOWS_USER_DATA_BEGINNINGS,
} from '@open-terrain/constructs/operator'
import { isChildOf } from '../../operator/cluster/ownership.ts'
import { viewClaim, viewDataVolume, viewSecret } from '../../operator/cluster/views.ts'
import { diskImageOf, imageOf, viewMachine } from '../../operator/controllers/virtual-machine/caches.ts'
import { CloudInitSource } from '../../operator/controllers/virtual-machine/cloud-init.ts'
import { planMachine } from '../../operator/controllers/virtual-machine/decide/plan.ts'
import { furtherDisksOf } from '../../operator/controllers/virtual-machine/further-disks.ts'
import { viewKubeVirt } from '../../operator/controllers/virtual-machine/kubevirt-views.ts'
import { rootNameOf } from '../../operator/controllers/virtual-machine/root-disks.ts'
import type { CloudInit, MachineView, MachineWorld } from '../../operator/controllers/virtual-machine/world.ts'
import type { ImageView } from '../../operator/images/image-view.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf, objectKeyOf } from '../../operator/kube/kube-object.ts'
import { readyImage } from './plan-image.ts'
import { type Assumptions, idOfPlanned, type Planned, type Present, ROUNDS_MAX, stored } from './planned.ts'

/** What stands for a password that is in a Secret. */
const PLACEHOLDER = 'PASSWORD-OF-A-SECRET'

/**
 * Plans a machine until KubeVirt would start it, in a cluster that has all that it names.
 * @param present undefined: the machine is not there yet. Its root disk may have another name than a first one: it is used as it is
 */
export async function planFreshMachine(
  object: KubeObject,
  assumptions: Assumptions,
  present?: Present,
): Promise<Planned> {
  const { policy, now } = assumptions
  const view = viewMachine(stored(object))
  const vm = { ...view, metadata: { ...view.metadata, finalizers: [FINALIZERS.virtualMachine] }, status: {} }
  const root = present?.children.find((one) => isChildOf(one, vm))
  const children = new Map<string, KubeObject>(root && [[idOfPlanned(root), root]])
  const images = new Map(
    namedImages(vm).flatMap((key) =>
      assumptions.images.has(key) ? [[key, assumedImage(key, assumptions)] as const] : [],
    ),
  )
  const remarks: string[] = []
  const cloudInit = await cloudInitOf(vm)
  let status: MachineView['status'] = root === undefined ? {} : rootKnownOf(present)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const plan = planMachine(worldOf({ ...vm, status }, { policy, cloudInit, children, images }), now)
    status = plan.status
    const before = children.size + images.size
    for (const child of [...plan.apply, ...(plan.applyIf ?? []).map(({ wanted }) => wanted)]) {
      children.set(idOfPlanned(child), child)
      if (child.kind === 'VMDiskImage') images.set(keyOf(child.metadata), readyImage(child, undefined, policy))
    }
    // What has no template is somebody else's, and there.
    const assumed = before === children.size + images.size ? assume(vm, images, assumptions) : []
    remarks.push(...assumed.map((key) => `image ${key} is taken for Ready`))
    if (before === children.size + images.size) break
  }
  if (!children.has(idOfPlanned(machineOf(vm))) && status.phase !== 'Ready')
    remarks.push(`VirtualMachine ${keyOf(vm.metadata)} is ${status.phase}: ${status.message}`)
  const isMade = (one: KubeObject) => one !== root && !(isOnRestoredDisk(present) && isRootOf(vm, status, one))
  return { objects: [...children.values()].filter(isMade), remarks }
}

/** Returns what the status says of the root disk that the machine starts from. */
function rootKnownOf(present: Present | undefined): MachineView['status'] {
  const { clone } = ((present?.live ?? {}) as Partial<MachineView>).status ?? {}
  return clone === undefined ? {} : { clone }
}

/** Such a machine gets no other disk, also where nothing is left of the one before. */
function isOnRestoredDisk(present: Present | undefined): boolean {
  const { status } = (present?.live ?? {}) as Partial<MachineView>
  return status?.restoredClaim !== undefined
}

function isRootOf({ metadata }: MachineView, { clone }: MachineView['status'], { kind, metadata: of }: KubeObject) {
  return kind === 'DataVolume' && of.namespace === metadata.namespace && of.name === clone?.name
}

function machineOf({ metadata: { namespace, name } }: MachineView): KubeObject {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { ...(namespace !== undefined && { namespace }), name },
  }
}

/** Takes the images that the machine names for Ready, and returns their keys. */
function assume(vm: MachineView, images: Map<string, ImageView>, assumptions: Assumptions): string[] {
  const missing = namedImages(vm).filter((key) => !images.has(key))
  for (const key of missing) images.set(key, assumedImage(key, assumptions))
  return missing
}

function assumedImage(key: string, { images, policy }: Assumptions): ImageView {
  const { apiVersion, kind } = vmDiskImage
  return readyImage({ apiVersion, kind, metadata: objectKeyOf(key) }, images.get(key), policy)
}

function namedImages(vm: MachineView): string[] {
  const parsed = parseVirtualMachineSpec(vm.spec)
  const disks = parsed.ok ? (parsed.spec.disks ?? []) : []
  return [...new Set([...imageOf(vm), ...disks.map((disk) => diskImageOf(vm, disk))])].filter(
    (key) => key !== undefined,
  )
}

interface Made extends Pick<MachineWorld, 'policy' | 'cloudInit'> {
  readonly children: ReadonlyMap<string, KubeObject>
  readonly images: ReadonlyMap<string, ImageView>
}

/** Everything that was made is there, and ready. */
function worldOf(vm: MachineView, { policy, cloudInit, children, images }: Made): MachineWorld {
  const made = [...children.values()].map((one) => stored(one))
  const cloned = made.filter(({ kind }) => kind === 'DataVolume')
  const dataVolumes = cloned.map((one) => viewDataVolume({ ...one, status: CLONED } as KubeObject))
  const claims = [
    ...cloned.map((one) => claimOf(one)),
    ...made.filter(({ kind }) => kind === 'PersistentVolumeClaim'),
  ].map((one) => viewClaim({ ...one, status: { phase: 'Bound' } } as KubeObject))
  const machine = made.find(
    ({ kind, apiVersion }) => kind === 'VirtualMachine' && apiVersion.startsWith('kubevirt.io/'),
  )
  const kubevirt = machine && viewKubeVirt({ ...machine, status: {} } as KubeObject)
  const rootName = rootNameOf(vm, kubevirt, storeOf(dataVolumes))
  const [imageKey = ''] = imageOf(vm)
  const spec = parseVirtualMachineSpec(vm.spec)
  const { foreign: _none, ...further } = furtherDisksOf(vm, spec, kubevirt, {
    claims: storeOf(claims),
    dataVolumes: storeOf(dataVolumes),
    images: { ...storeOf<ImageView>([]), get: (key) => images.get(key) },
    hasSource: () => true,
  })
  const secret = made.find(({ kind }) => kind === 'Secret')
  const isRoot = ({ metadata: { name } }: KubeObject) => name === rootName
  return {
    vm,
    spec,
    policy,
    namespaceTerminating: false,
    hasDataVolumes: true,
    hasKubeVirt: true,
    image: images.get(imageKey),
    isImageShared: false,
    imageClaims: [],
    imageNamespace: 'there',
    rootName,
    next: undefined,
    old: undefined,
    otherRoots: [],
    ...further,
    clone: dataVolumes.find(isRoot),
    storageClass: undefined,
    hasCloneSource: true,
    claim: claims.find(isRoot),
    foreignClaim: undefined,
    secret: secret && viewSecret(secret),
    machine: kubevirt,
    instance: undefined,
    restoring: undefined,
    restoredClaim: undefined,
    isDiskElsewhere: false,
    isRestoredClaimLost: false,
    restoredAside: undefined,
    serverNow: undefined,
    conflict: undefined,
    leaving: undefined,
    orphan: undefined,
    cloudInit,
    refusal: undefined,
    obstacle: undefined,
    neighbours: {},
  }
}

const CLONED = {
  phase: 'Succeeded',
  progress: '100.0%',
  conditions: [{ type: 'Bound', status: 'True', reason: 'Bound', message: '' }],
}

/** CDI makes a claim of the name of its DataVolume, with its labels. */
function claimOf({ apiVersion, kind, metadata: { namespace, name, labels, uid = '' } }: KubeObject): KubeObject {
  const owner = { apiVersion, kind, name, uid, controller: true }
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    ownerReferences: [owner],
  }
  return stored({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
}

/** The objects of one machine: whatever is looked for among its children, all of them are. */
function storeOf<T extends KubeObject>(objects: readonly T[]) {
  return {
    get: (key: string) => objects.find(({ metadata }) => keyOf(metadata) === key),
    find: () => [...objects],
    onChange: () => () => undefined,
  }
}

/** Renders what the guest gets, with placeholders for what is in Secrets. No Secret is read. */
async function cloudInitOf(vm: MachineView): Promise<CloudInit> {
  const parsed = parseVirtualMachineSpec(vm.spec)
  const nothing = { kind: 'missing', reason: 'MissingPasswordSecret', message: 'the spec is not valid' } as const
  if (!parsed.ok) return nothing
  const data = placeholdersFor(parsed.spec)
  const client = { get: async () => ({ data }) } as unknown as KubeClient
  return await new CloudInitSource(client, { get: () => undefined }).render(
    vm,
    parsed.spec,
    new AbortController().signal,
  )
}

function placeholdersFor({ users = [], userDataSecretRef, os }: VirtualMachineSpec): Record<string, string> {
  const encoded = (text: string) => Buffer.from(text).toString('base64')
  const passwords = users.flatMap(({ passwordSecretRef: ref }) =>
    ref === undefined ? [] : [[ref.key, encoded(PLACEHOLDER)]],
  )
  const [beginning = '#'] = os === 'windows' ? WINDOWS_USER_DATA_BEGINNINGS : USER_DATA_BEGINNINGS
  const data = userDataSecretRef && [[userDataSecretRef.key, encoded(`${beginning}\n# of a Secret\n`)]]
  return Object.fromEntries([...passwords, ...(data ?? [])])
}
