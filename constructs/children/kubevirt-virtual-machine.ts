import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { type InterfaceModel, type InterfaceWords, isOnPodNetwork } from '../api/interface-words.ts'
import { ANNOTATIONS, LABELS } from '../api/labels.ts'
import type { DiskBus } from '../api/machine-disks.ts'
import type { OperatingSystem } from '../api/machine-os.ts'
import { labelValue } from '../api/names.ts'
import type { RunStrategy } from '../api/power-state.ts'
import type { VirtualMachineSpec } from '../api/virtual-machine.ts'
import { cpuShape } from '../api/virtual-machine-cpu.ts'
import type { FieldsFromSpec, MaybeFromSpec } from './fields-from-spec.ts'
import { guestMemory } from './guest-memory.ts'
import type { ImageChild } from './image-child.ts'
import { withMacAddresses } from './mac-address.ts'
import type { GuestDataDisk } from './machine-disks.ts'
import type { MachineHardware } from './machine-hardware.ts'
import type { GuestMatchers, MachineMatchers } from './machine-matchers.ts'
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
  /** As in the spec's resources. Default: those of the instance type. */
  readonly cpu?: string | undefined
  readonly memory?: string | undefined
  /** Seconds that a guest has to shut down before it is switched off. Null: as its preference says, and 30 if that says nothing. Default: 60. */
  readonly graceSeconds?: number | null
  /** From `matchersOf`. Default: none. */
  readonly matchers?: Pick<MachineMatchers, 'named' | 'annotation'>
  /** Whether a preference gives the devices what nobody has asked for. Default: false. */
  readonly hasPreference?: boolean
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
    /** Hash of the host names in the Secret. Default: it has none. */
    readonly hosts?: string | undefined
  }
  /** System of the guest. Default: linux. */
  readonly os?: OperatingSystem | undefined
  /** Name of the Secret with the answer file for the setup of Windows. Default: none. */
  readonly sysprepSecret?: string | undefined
  /** From `hardwareOf`. Default: that of KubeVirt. */
  readonly hardware?: MachineHardware
  /** From `fieldsFromSpec`. Default: none. */
  readonly fromSpec?: FieldsFromSpec
  /** Name of the DataVolume of the root disk, from `rootDiskName`. Default: that of the first one. */
  readonly rootDisk?: string | undefined
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
  readonly disk?: DiskTarget
  readonly cdrom?: DiskTarget
}

interface DiskTarget {
  readonly bus?: DiskBus
}

interface SecretReference {
  readonly name: string
}

interface GuestVolume {
  readonly name: string
  readonly dataVolume?: { readonly name: string }
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly cloudInitNoCloud?: CloudInitReference
  readonly cloudInitConfigDrive?: CloudInitReference
  readonly sysprep?: { readonly secret: SecretReference }
}

interface CloudInitReference {
  readonly secretRef: SecretReference
  readonly networkDataSecretRef?: SecretReference
}

/** The fields of VirtualMachine `kubevirt.io/v1` that we use. */
export interface KubeVirtVirtualMachineSpec extends GuestMatchers {
  readonly runStrategy: RunStrategy
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> }
    readonly spec: MaybeFromSpec & {
      readonly hostname: string
      readonly terminationGracePeriodSeconds?: number
      readonly affinity?: NodeGroupAffinity
      readonly domain: {
        readonly cpu?: { readonly sockets: number; readonly cores: number; readonly threads: 1 }
        readonly resources?: { readonly requests: { readonly cpu: string } }
        readonly firmware: { readonly uuid: string; readonly bootloader?: object }
        readonly features?: Readonly<Record<string, object>>
        readonly clock?: object
        readonly memory?: { readonly guest: string }
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
/** The drive with the data for cloud-init. */
export const CLOUD_INIT_DISK = 'cloudinit'
/** The CD-ROM with the answer file. */
export const SYSPREP_DISK = 'sysprep'
const POD_NETWORK = 'default'
const DEVICES_PATH = 'template.spec.domain.devices'
const GRACE_SECONDS = 60

/** Returns the paths of the disks and interfaces that the machine is to have, as `overridePath` writes them. */
export function guestNames({
  disks: further = [],
  interfaces = [],
  sysprepSecretRef,
}: Pick<VirtualMachineSpec, 'disks' | 'interfaces' | 'sysprepSecretRef'>): ReadonlySet<string> {
  const disksOfGuest = [ROOT_DISK, CLOUD_INIT_DISK, ...(sysprepSecretRef === undefined ? [] : [SYSPREP_DISK])]
  const cards = interfaces.length === 0 ? [POD_NETWORK] : interfaces.map(({ network }) => network)
  return new Set([
    ...[...disksOfGuest, ...further.map(({ name }) => name)].map((name) => `${DEVICES_PATH}.disks[${name}]`),
    ...cards.map((name) => `${DEVICES_PATH}.interfaces[${name}]`),
  ])
}

/** The machine itself. Its disk must exist before it: until then, KubeVirt shows misleading states. */
export class KubeVirtVirtualMachine extends ApiObject {
  constructor(scope: Construct, id: string, props: KubeVirtVirtualMachineProps) {
    const { vm, cloudInit, fromSpec: { annotation } = {}, matchers } = props
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
          ...(matchers?.annotation !== undefined && { [ANNOTATIONS.matchers]: matchers.annotation }),
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
  const { memory, matchers: { named: { instancetype, preference } = {} } = {} } = props
  const { graceSeconds = GRACE_SECONDS } = props
  const { bootloader, smm, tpm, windows } = props.hardware ?? {}
  return {
    ...(instancetype !== undefined && { instancetype }),
    ...(preference !== undefined && { preference }),
    runStrategy: props.runStrategy ?? 'Always',
    template: {
      metadata: { labels: { ...vmLabels(vm), ...placeLabels(props), ...hostsLabel(props) } },
      spec: {
        hostname: props.hostname,
        ...(graceSeconds !== null && { terminationGracePeriodSeconds: graceSeconds }),
        affinity: nodeGroup === undefined ? undefined : sameNodeAs(nodeGroup),
        ...props.fromSpec?.fields,
        domain: {
          ...processors(props),
          firmware: { uuid: props.firmwareUuid, ...(bootloader !== undefined && { bootloader }) },
          ...((smm !== undefined || windows !== undefined) && {
            features: { ...windows?.features, ...(smm !== undefined && { smm }) },
          }),
          ...(windows?.clock !== undefined && { clock: windows.clock }),
          ...(memory !== undefined && { memory: { guest: guestMemory(memory) } }),
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

/** KubeVirt can add sockets to a running machine. But Windows 10 and 11 use no more than two of them. */
function processors({ cpu, fromSpec }: KubeVirtVirtualMachineProps) {
  if (cpu === undefined) return { resources: undefined }
  const { cpus, request } = cpuShape(cpu)
  const shape = fromSpec?.hasCores ? { sockets: 1, cores: cpus } : { sockets: cpus, cores: 1 }
  return {
    cpu: { ...shape, threads: 1 as const },
    resources: request === undefined ? undefined : { requests: { cpu: request } },
  }
}

/** KubeVirt gives it to the next instance. It asks for no restart because of a label. */
function hostsLabel({ cloudInit: { hosts } }: KubeVirtVirtualMachineProps): Readonly<Record<string, string>> {
  return hosts === undefined ? {} : { [LABELS.hosts]: hosts }
}

/** Where the spec says nothing. Windows has drivers for these in itself. */
const DEVICES: Readonly<Record<OperatingSystem, Devices>> = {
  linux: { target: { bus: 'virtio' }, card: {} },
  windows: { target: { bus: 'sata' }, card: { model: 'e1000' } },
}

interface Devices {
  readonly target: DiskTarget
  readonly card: Card
}

interface Card {
  readonly model?: InterfaceModel
}

function devicesOf({
  os = 'linux',
  hasPreference = false,
}: Pick<KubeVirtVirtualMachineProps, 'os' | 'hasPreference'>): Devices {
  return hasPreference ? { target: {}, card: {} } : DEVICES[os]
}

function disks(props: KubeVirtVirtualMachineProps): GuestDisk[] {
  const { os, sysprepSecret, hasPreference = false, disks: further = [] } = props
  const cdRoms = further.filter(({ readOnly }) => readOnly)
  const { target } = devicesOf(props)
  return [
    { name: ROOT_DISK, bootOrder: 1, disk: target },
    { name: CLOUD_INIT_DISK, ...(os === 'windows' ? { cdrom: target } : { disk: target }) },
    ...(sysprepSecret === undefined ? [] : [{ name: SYSPREP_DISK, cdrom: target }]),
    ...further.map((one): GuestDisk => {
      const { name, bus } = one
      if (one.readOnly !== true) return { name, serial: name, disk: bus === undefined ? target : { bus } }
      // QEMU boots only from what has a place in the order. The root disk keeps the first one: an installation ends with a guest that boots from it.
      const order = { bootOrder: 2 + cdRoms.indexOf(one) }
      return { name, serial: name, ...order, cdrom: bus === undefined && hasPreference ? {} : { bus: bus ?? 'sata' } }
    }),
  ]
}

function volumes(props: KubeVirtVirtualMachineProps): GuestVolume[] {
  const { vm, restoredClaim, sysprepSecret, disks: further = [] } = props
  const { rootDisk = vmChildNames(vm.name).clone } = props
  return [
    {
      name: ROOT_DISK,
      ...(restoredClaim === undefined
        ? { dataVolume: { name: rootDisk } }
        : { persistentVolumeClaim: { claimName: restoredClaim } }),
    },
    { name: CLOUD_INIT_DISK, ...cloudInitDrive(props) },
    ...(sysprepSecret === undefined ? [] : [{ name: SYSPREP_DISK, sysprep: { secret: { name: sysprepSecret } } }]),
    ...further.map(({ name, claim }): GuestVolume => ({ name, persistentVolumeClaim: { claimName: claim } })),
  ]
}

/** cloudbase-init looks for the drive of OpenStack unless the image tells it otherwise. */
function cloudInitDrive({ vm, os, cloudInit }: KubeVirtVirtualMachineProps): Omit<GuestVolume, 'name'> {
  const secret = { name: vmChildNames(vm.name).cloudInit }
  const networkDataSecretRef = cloudInit.hasNetworkData ? secret : undefined
  const drive = { secretRef: secret, networkDataSecretRef } as CloudInitReference
  return os === 'windows' ? { cloudInitConfigDrive: drive } : { cloudInitNoCloud: drive }
}

interface Networking {
  readonly autoattachPodInterface?: false
  readonly interfaces: GuestNic[]
  readonly networks: GuestNetwork[]
}

function networking(props: KubeVirtVirtualMachineProps): Networking {
  const { vm, interfaces = [] } = props
  const { card } = devicesOf(props)
  if (interfaces.length === 0) return podNetwork(vm, card)
  return {
    autoattachPodInterface: false,
    interfaces: interfaces.map((nic) => ({
      name: nic.network,
      ...(isOnPodNetwork(nic) ? { masquerade: {} } : { bridge: {} }),
      macAddress: nic.macAddress,
      ...(nic.model === undefined ? card : { model: nic.model }),
    })),
    networks: interfaces.map((nic) => ({
      name: nic.network,
      ...(isOnPodNetwork(nic)
        ? { pod: {} }
        : { multus: { networkName: nic.attach ?? `${vm.namespace}/${nic.network}` } }),
    })),
  }
}

function podNetwork(vm: VMRef, card: Card): Networking {
  // Its MAC address must not change either: the guest ties its DHCP configuration to the one of its first start.
  const interfaces = withMacAddresses(vm.uid, vm.name, [{ network: POD_NETWORK }])
  return {
    interfaces: interfaces.map(({ network, macAddress }) => ({ name: network, masquerade: {}, macAddress, ...card })),
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
