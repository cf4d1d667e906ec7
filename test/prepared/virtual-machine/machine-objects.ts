import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  cloudInitHash,
  earlierCloudInit,
  MANAGER,
  parseVirtualMachineSpec,
  renderCloudInit,
  renderKubeVirtVirtualMachine,
  userDataWarnings,
  type VMDiskImageStatus,
  vmChildNames,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import {
  type InstanceView,
  type KubeVirtView,
  viewKubeVirt,
} from '../../../operator/controllers/virtual-machine/kubevirt-views.ts'
import type { CloudInit, MachineView } from '../../../operator/controllers/virtual-machine/world.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject, ObjectMeta } from '../../../operator/kube/kube-object.ts'
import { ownObject } from '../runtime/plan-walk.ts'
import { START } from '../runtime/times.ts'

export const VM_UID = 'vm-uid'

/** A canary that may appear only in the data of a Secret. */
export const PASSWORD = 'canary-Kx7-password'

export const TEMPLATE: Readonly<Record<string, unknown>> = {
  storageClass: 'fast',
  snapshotClass: 'snap',
  url: 'https://images.example/a.qcow2',
  sourceType: 'http',
  diskSize: '10Gi',
}

export const SPEC: Readonly<Record<string, unknown>> = {
  name: 'demo-vm',
  users: [{ name: 'demo', plain_text_passwd: PASSWORD, lock_passwd: false }],
  resources: { cpu: '2', memory: '2Gi' },
  interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }],
  vmDiskImageRef: { name: 'golden', namespace: 'farm' },
  vmDiskImageTemplate: TEMPLATE,
}

/** A user whose password is in a Secret. */
export const REFERRING = [{ name: 'demo', passwordSecretRef: { name: 'login', key: 'password' }, lock_passwd: false }]

export const ARTIFACT: NonNullable<VMDiskImageStatus['artifact']> = {
  kind: 'VolumeSnapshot',
  name: 'golden-1a2b3c4d',
  revision: '1a2b3c4d',
  restoreSize: '10Gi',
  volumeMode: 'Block',
  accessModes: ['ReadWriteOnce'],
}

export const PUBLISHED: VMDiskImageStatus = { phase: 'Succeeded', revision: ARTIFACT.revision, artifact: ARTIFACT }

export const QUEUED: VMDiskImageStatus = {
  phase: 'Queued',
  queuePosition: 7,
  queuePositionTime: '2026-01-01T00:00:00.000Z',
}

export function aVM(metadata: Partial<ObjectMeta> = {}, more: Partial<MachineView> = {}): MachineView {
  const head = ownObject('VirtualMachine', { name: 'vm', uid: VM_UID, ...metadata })
  return { ...head, spec: SPEC, status: {}, ...more }
}

export function anImage(
  status: VMDiskImageStatus = PUBLISHED,
  metadata: Partial<ObjectMeta> = {},
  spec: unknown = TEMPLATE,
): ImageView {
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VMDiskImage',
    metadata: { name: 'golden', namespace: 'farm', uid: 'image-uid', resourceVersion: '50', ...metadata },
    spec,
    status,
  }
}

/** Metadata of a child of the machine. */
export function childMeta(name: string, more: Partial<ObjectMeta> = {}): ObjectMeta {
  const owner = {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VirtualMachine',
    name: 'vm',
    uid: VM_UID,
    controller: true,
  }
  return {
    name,
    namespace: 'team',
    uid: `uid of ${name}`,
    resourceVersion: '200',
    creationTimestamp: toTime(START),
    labels: { [LABELS.vmUid]: VM_UID, [LABELS.vmName]: 'vm', [LABELS.managedBy]: MANAGER },
    ownerReferences: [owner],
    ...more,
  }
}

/** The cloud-init Secret as its watch shows it: without its data. */
export function aSecret(cloudInit: CloudInit = cloudInitOf(aVM()), metadata: Partial<ObjectMeta> = {}): KubeObject {
  const hash = cloudInit.kind === 'rendered' ? cloudInitHash(cloudInit.data) : 'none'
  const meta = childMeta('vm-cloudinit', { annotations: { [ANNOTATIONS.cloudInit]: hash }, ...metadata })
  return { apiVersion: 'v1', kind: 'Secret', metadata: meta }
}

export interface KubeVirtStatus {
  readonly printableStatus?: string
  readonly conditions?: readonly {
    type: string
    status: string
    reason?: string
    message?: string
    lastTransitionTime?: string
  }[]
  readonly startFailure?: { readonly retryAfterTimestamp?: string }
  readonly stateChangeRequests?: readonly { readonly action: string }[]
}

/** States of KubeVirt's VirtualMachine that many tests need. */
export const KUBEVIRT = {
  new: {},
  starting: { printableStatus: 'Starting', conditions: [{ type: 'Ready', status: 'False', reason: 'VMINotExists' }] },
  notReady: { printableStatus: 'Running', conditions: [{ type: 'Ready', status: 'False', reason: 'GuestNotRunning' }] },
  running: { printableStatus: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  paused: { printableStatus: 'Paused', conditions: [{ type: 'Paused', status: 'True' }] },
  stopped: { printableStatus: 'Stopped', conditions: [{ type: 'Ready', status: 'False', reason: 'VMINotExists' }] },
} as const satisfies Record<string, KubeVirtStatus>

/** KubeVirt's machine as the API server has it. It may differ from the desired one in what a test does not cover. */
export function aMachine(status: KubeVirtStatus = KUBEVIRT.running, metadata: Partial<ObjectMeta> = {}): KubeVirtView {
  const { spec, ...object } = renderKubeVirtVirtualMachine({
    vm: { name: 'vm', namespace: 'team', uid: VM_UID },
    hostname: 'demo-vm',
    firmwareUuid: '5d307ca9-b3ef-828c-8861-06e72d69f223',
    cpu: '2',
    memory: '2Gi',
    cloudInit: { fingerprint: 'f', hasNetworkData: false },
  })
  return viewKubeVirt({ ...object, spec, status, metadata: childMeta('vm', metadata) } as KubeObject)
}

export function anInstance(more: Partial<InstanceView> = {}, metadata: Partial<ObjectMeta> = {}): InstanceView {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'vm', uid: 'uid of vm', controller: true }
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: childMeta('vm', { uid: 'instance-1', resourceVersion: '300', ownerReferences: [owner], ...metadata }),
    phase: 'Running',
    isReady: true,
    unreadySince: START,
    unreadyReason: '',
    hasAgent: false,
    isPaused: false,
    isProbed: false,
    nodeName: 'node-1',
    addresses: ['10.10.0.161'],
    ...more,
  }
}

/** The cloud-init data of the guest, with {@link PASSWORD} for each password that is in a Secret. */
export function cloudInitOf({ metadata: { uid = '', name }, spec }: MachineView): CloudInit {
  const parsed = parseVirtualMachineSpec(spec)
  if (!parsed.ok) return { kind: 'missing', reason: 'MissingPasswordSecret', message: '' }
  const users = (parsed.spec.users ?? []).map(({ passwordSecretRef, ...user }) =>
    passwordSecretRef === undefined ? user : { ...user, plain_text_passwd: PASSWORD },
  )
  const interfaces = withMacAddresses(uid, name, parsed.spec.interfaces ?? [])
  const { os, name: hostname = name, userData } = parsed.spec
  const props = { os, hostname, users, userData }
  const data = renderCloudInit({ ...props, interfaces })
  const earlier = earlierCloudInit({ ...props, interfaces })
  return {
    kind: 'rendered',
    data,
    ...(earlier && { earlier }),
    ...(userData !== undefined && { warnings: userDataWarnings(props) }),
  }
}

/** Names of the children of a machine called `vm`. */
export const NAMES = vmChildNames('vm')
