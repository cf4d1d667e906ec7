import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { type InterfaceModel, type InterfaceWords, isOnPodNetwork } from '../api/interface-words.ts'
import { ANNOTATIONS, LABELS } from '../api/labels.ts'
import type { DiskBus } from '../api/machine-disks.ts'
import { labelValue } from '../api/names.ts'
import type { RunStrategy } from '../api/virtual-machine.ts'
import { cpuShape } from '../api/virtual-machine-cpu.ts'
import type { FieldsFromSpec, MaybeFromSpec } from './fields-from-spec.ts'
import { guestMemory } from './guest-memory.ts'
import type { ImageChild } from './image-child.ts'
import { withMacAddresses } from './mac-address.ts'
import type { GuestDataDisk } from './machine-disks.ts'
import type { MachineHardware } from './machine-hardware.ts'
import { type NodeGroupAffinity, sameNodeAs } from './node-group.ts'
import { render } from './render.ts'
import { type VMRef, vmChildMetadata, vmChildNames, vmLabels } from './virtual-machine-child.ts'

export interface KubeVirtVirtualMachineProps {
  readonly vm: VMRef
  /** DNS-1123 label. */
  readonly hostname: string
  /** Identity of the guest for cloud-init, which sets up a guest again when it changes. From `uuidFrom`. */
  readonly firmwareUuid: string
  /** Default: Always. */
  readonly runStrategy?: RunStrategy
  /** As in the spec's resources. */
  readonly cpu: string
  readonly memory: string
  /** Networks of the machine, each a NetworkAttachmentDefinition in its namespace, or the pod network. Without any it is on the pod network. */
  readonly interfaces?: readonly (InterfaceWords & {
    readonly macAddress: string
    readonly model?: InterfaceModel | undefined
  })[]
  /** Names of interfaces whose MAC address the spec gives, or has given before. Default: none. */
  readonly givenMacAddresses?: readonly string[] | undefined
  /** The data for cloud-init. */
  readonly cloudInit: {
    /** From `cloudInitFingerprint`. */
    readonly fingerprint: string
    /** Whether the Secret has `networkdata`. */
    readonly hasNetworkData: boolean
  }
  /** From `hardwareOf`. Default: that of KubeVirt. */
  readonly hardware?: MachineHardware
  /** From `fieldsFromSpec`. Default: none. */
  readonly fromSpec?: FieldsFromSpec
  /** Name of the claim that a restore of KubeVirt made the root disk. Default: that of the DataVolume. */
  readonly restoredClaim?: string | undefined
  /** Disks beside the root disk, whose claims exist. */
  readonly disks?: readonly GuestDataDisk[] | undefined
  /** Value of annotation `ANNOTATIONS.disks`. Default: the annotation is absent. */
  readonly disksNote?: string | undefined
  /** Versions of the machine, as label values. */
  readonly version?: {
    readonly baseVm?: string | undefined
    readonly baseVmVersion?: string | undefined
    readonly version?: string | undefined
  }
  /** Name of the Workspace that it belongs to. */
  readonly workspace?: string | undefined
  /** Machines and pods of the namespace with the same group run on one node. */
  readonly nodeGroup?: string | undefined
}

interface GuestNic {
  readonly name: string
  readonly macAddress: string
  readonly model?: InterfaceModel
  readonly bridge?: Readonly<Record<string, never>>
  readonly masquerade?: Readonly<Record<string, never>>
}

interface GuestNetwork {
  readonly name: string
  readonly multus?: { readonly networkName: string }
  readonly pod?: Readonly<Record<string, never>>
}

interface GuestDisk {
  readonly name: string
  readonly bootOrder?: number
  readonly serial?: string
  /** This, or `cdrom`. */
  readonly disk?: { readonly bus: DiskBus }
  readonly cdrom?: { readonly bus: DiskBus }
}

interface SecretReference {
  readonly name: string
}

interface GuestVolume {
  readonly name: string
  readonly dataVolume?: { readonly name: string }
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly cloudInitNoCloud?: {
    readonly secretRef: SecretReference
    readonly networkDataSecretRef?: SecretReference
  }
}

/** The fields of VirtualMachine `kubevirt.io/v1` that we use. */
export interface KubeVirtVirtualMachineSpec {
  readonly runStrategy: RunStrategy
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> }
    readonly spec: MaybeFromSpec & {
      readonly hostname: string
      readonly terminationGracePeriodSeconds: number
      readonly affinity?: NodeGroupAffinity
      readonly domain: {
        readonly cpu: { readonly sockets: number; readonly cores: 1; readonly threads: 1 }
        readonly resources?: { readonly requests: { readonly cpu: string } }
        readonly firmware: { readonly uuid: string; readonly bootloader?: object }
        readonly features?: { readonly smm: object }
        readonly memory: { readonly guest: string }
        readonly devices: {
          readonly autoattachPodInterface?: false
          readonly rng: Readonly<Record<string, never>>
          readonly tpm?: object
          readonly disks: readonly GuestDisk[]
          readonly interfaces: readonly GuestNic[]
        }
      }
      readonly networks: readonly GuestNetwork[]
      readonly volumes: readonly GuestVolume[]
    }
  }
}

export type KubeVirtVirtualMachineObject = ImageChild<'VirtualMachine', KubeVirtVirtualMachineSpec>

/** Name of the root disk in KubeVirt's machine. */
export const ROOT_DISK = 'rootdisk'
const CLOUD_INIT_DISK = 'cloudinit'
const POD_NETWORK = 'default'
/** Time that a guest has to shut down before it is switched off. */
const GRACE_SECONDS = 60

/** The machine itself. Its disk must exist before it: until then, KubeVirt shows misleading states. */
export class KubeVirtVirtualMachine extends ApiObject {
  constructor(scope: Construct, id: string, props: KubeVirtVirtualMachineProps) {
    const { vm, cloudInit, fromSpec: { annotation } = {} } = props
    super(scope, id, {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: vmChildMetadata({
        vm,
        name: vmChildNames(vm.name).machine,
        labels: placeLabels(props),
        annotations: {
          [ANNOTATIONS.cloudInit]: cloudInit.fingerprint,
          ...(props.givenMacAddresses !== undefined && {
            [ANNOTATIONS.givenMacAddresses]: props.givenMacAddresses.join(','),
          }),
          ...(annotation !== undefined && { [ANNOTATIONS.fieldsFromSpec]: annotation }),
          ...(props.disksNote !== undefined && { [ANNOTATIONS.disks]: props.disksNote }),
        },
      }),
      spec: machineSpec(props),
    })
  }
}

export function renderKubeVirtVirtualMachine(props: KubeVirtVirtualMachineProps): KubeVirtVirtualMachineObject {
  const [object] = render((chart) => new KubeVirtVirtualMachine(chart, 'VirtualMachine', props))
  return object as KubeVirtVirtualMachineObject
}

function machineSpec(props: KubeVirtVirtualMachineProps): KubeVirtVirtualMachineSpec {
  const { vm, nodeGroup } = props
  const { autoattachPodInterface, interfaces, networks } = networking(props)
  const { sockets, request } = cpuShape(props.cpu)
  const { bootloader, smm, tpm } = props.hardware ?? {}
  return {
    runStrategy: props.runStrategy ?? 'Always',
    template: {
      metadata: { labels: { ...vmLabels(vm), ...placeLabels(props) } },
      spec: {
        hostname: props.hostname,
        terminationGracePeriodSeconds: GRACE_SECONDS,
        affinity: nodeGroup === undefined ? undefined : sameNodeAs(nodeGroup),
        ...props.fromSpec?.fields,
        domain: {
          // KubeVirt can add sockets to a running machine.
          cpu: { sockets, cores: 1, threads: 1 },
          resources: request === undefined ? undefined : { requests: { cpu: request } },
          firmware: { uuid: props.firmwareUuid, ...(bootloader !== undefined && { bootloader }) },
          ...(smm !== undefined && { features: { smm } }),
          memory: { guest: guestMemory(props.memory) },
          devices: {
            autoattachPodInterface,
            rng: {},
            ...(tpm !== undefined && { tpm }),
            disks: disks(props),
            interfaces,
          },
        },
        networks,
        volumes: volumes(props),
      },
    },
  }
}

function disks({ disks: further = [] }: KubeVirtVirtualMachineProps): GuestDisk[] {
  const cdRoms = further.filter(({ readOnly }) => readOnly)
  return [
    { name: ROOT_DISK, bootOrder: 1, disk: { bus: 'virtio' } },
    { name: CLOUD_INIT_DISK, disk: { bus: 'virtio' } },
    ...further.map((one): GuestDisk => {
      const { name, bus } = one
      if (one.readOnly !== true) return { name, serial: name, disk: { bus: bus ?? 'virtio' } }
      // QEMU boots only from what has a place in the order. The root disk keeps the first one: an installation ends with a guest that boots from it.
      return { name, serial: name, bootOrder: 2 + cdRoms.indexOf(one), cdrom: { bus: bus ?? 'sata' } }
    }),
  ]
}

function volumes({ vm, cloudInit, restoredClaim, disks: further = [] }: KubeVirtVirtualMachineProps): GuestVolume[] {
  const names = vmChildNames(vm.name)
  const secret = { name: names.cloudInit }
  const networkDataSecretRef = cloudInit.hasNetworkData ? secret : undefined
  return [
    {
      name: ROOT_DISK,
      ...(restoredClaim === undefined
        ? { dataVolume: { name: names.clone } }
        : { persistentVolumeClaim: { claimName: restoredClaim } }),
    },
    { name: CLOUD_INIT_DISK, cloudInitNoCloud: { secretRef: secret, networkDataSecretRef } },
    ...further.map(({ name, claim }): GuestVolume => ({ name, persistentVolumeClaim: { claimName: claim } })),
  ]
}

interface Networking {
  readonly autoattachPodInterface?: false
  readonly interfaces: GuestNic[]
  readonly networks: GuestNetwork[]
}

function networking({ vm, interfaces = [] }: KubeVirtVirtualMachineProps): Networking {
  if (interfaces.length === 0) return podNetwork(vm)
  return {
    autoattachPodInterface: false,
    interfaces: interfaces.map((nic) => ({
      name: nic.network,
      ...(isOnPodNetwork(nic) ? { masquerade: {} } : { bridge: {} }),
      macAddress: nic.macAddress,
      ...(nic.model !== undefined && { model: nic.model }),
    })),
    networks: interfaces.map((nic) => ({
      name: nic.network,
      ...(isOnPodNetwork(nic)
        ? { pod: {} }
        : { multus: { networkName: nic.attach ?? `${vm.namespace}/${nic.network}` } }),
    })),
  }
}

function podNetwork(vm: VMRef): Networking {
  // Its MAC address must not change either: the guest ties its DHCP configuration to the one of its first start.
  const interfaces = withMacAddresses(vm.uid, vm.name, [{ network: POD_NETWORK }])
  return {
    interfaces: interfaces.map(({ network, macAddress }) => ({ name: network, masquerade: {}, macAddress })),
    networks: [{ name: POD_NETWORK, pod: {} }],
  }
}

/** Labels of the machine, its instance and its pod. */
function placeLabels({ version, workspace, nodeGroup }: KubeVirtVirtualMachineProps): Readonly<Record<string, string>> {
  return {
    ...versionLabels(version),
    ...(workspace !== undefined && { [LABELS.workspace]: labelValue(workspace) }),
    ...(nodeGroup !== undefined && { [LABELS.nodeGroup]: nodeGroup }),
  }
}

/** If the guest is running, its instance and its pod get them at its next start. No restart is requested. */
function versionLabels({ baseVm, baseVmVersion, version }: KubeVirtVirtualMachineProps['version'] = {}) {
  return {
    ...(baseVm && { [LABELS.baseVm]: labelValue(baseVm) }),
    ...(baseVmVersion && { [LABELS.baseVmVersion]: labelValue(baseVmVersion) }),
    ...(version && { [LABELS.version]: labelValue(version) }),
  }
}
