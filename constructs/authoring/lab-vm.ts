import type { Size } from 'cdk8s'
import type { Construct } from 'constructs'
import type { InterfaceModel } from '../api/interface-words.ts'
import type { WorkspaceSpecInput } from '../api/workspace.ts'
import { LabMember } from './lab-member.ts'
import type { LabRole } from './lab-role.ts'
import { type PlainText, type SecretKey, secretKeyRef } from './lab-secret.ts'
import { quantityOf } from './quantity-of.ts'

type VmSpec = NonNullable<WorkspaceSpecInput['vms']>[number]
type UserSpec = NonNullable<VmSpec['users']>[number]
type DiskSpec = NonNullable<VmSpec['disks']>[number]

/** A VMDiskImage: that of a `Release`, a `VMDiskImage` of the same program, or its name. */
export type LabImage = string | { readonly imageName: string }

/** A user of a guest. */
export interface LabUser {
  /** Name of the user. */
  readonly name: string
  /** Password: a key of a Secret, or plainText. With one, the user may log in with it. Default: none, no login with a password. */
  readonly password?: SecretKey | PlainText
  /** Public keys in one line each, as in the file authorized_keys. Default: none. */
  readonly sshKeys?: readonly string[]
  /** True: may run everything as root, without a password. A text: a rule for sudo. Default: false. */
  readonly sudo?: boolean | string
  /** Further groups, such as docker. Default: none. */
  readonly groups?: readonly string[]
}

/** A disk of a machine beside its root disk: empty with a size, a clone of an image, or a volume of the lab. */
export interface LabDisk {
  /** Name of the disk, at most 20 characters. The guest sees it as its serial number. */
  readonly name: string
  /** Size of an empty disk, or of the clone. */
  readonly size?: Size | string | number
  /** Image that the disk is a clone of. */
  readonly image?: LabImage
  /** Volume of the lab that the disk is. */
  readonly volume?: { readonly volumeName: string }
  /** True: the image is a CD-ROM. Default: false. */
  readonly readOnly?: boolean
  /** How the guest sees the disk. Default: virtio, and sata for a CD-ROM. */
  readonly bus?: DiskSpec['bus']
}

/** What else may be said of an interface of a machine. */
export interface VmInterfaceOptions {
  /** How the guest gets its addresses. Default: static with addresses, else dhcp. */
  readonly addressing?: 'static' | 'dhcp' | 'none'
  /** MAC address such as 52:54:00:12:34:56. Default: one that follows from machine and network, and stays. */
  readonly macAddress?: string
  /** Network card that the guest finds. Default: virtio. */
  readonly model?: InterfaceModel
}

/** Fields of a machine that have another form here. */
type Reshaped =
  | 'name'
  | 'backingVMDiskImage'
  | 'resources'
  | 'diskSize'
  | 'disks'
  | 'users'
  | 'interfaces'
  | 'dependsOn'
  | 'ansible'

export interface LabVmProps extends Omit<VmSpec, Reshaped> {
  /** Image that the root disk is cloned from. */
  readonly image: LabImage
  /** Virtual CPUs, such as 2 or 500m. Needed with memory, unless an instance type gives both. */
  readonly cpu?: number | string
  /** Memory of the guest: a quantity such as 2Gi, bytes, or a Size. */
  readonly memory?: Size | string | number
  /** Size of the root disk. Default: the size of the image. */
  readonly diskSize?: Size | string | number
  /** Disks beside the root disk, in the order of the guest. Default: none. */
  readonly disks?: readonly LabDisk[]
  /** Users of the guest beside the default user of the image. Default: none. */
  readonly users?: readonly LabUser[]
  /** Members that must be Ready before this one is made. Default: none. */
  readonly dependsOn?: readonly { readonly memberName: string }[]
  /** Roles that are played once for each new disk, in this order. Default: none. */
  readonly build?: readonly LabRole[]
  /** Roles that are played after each start, in this order. Default: none. */
  readonly deploy?: readonly LabRole[]
}

/** A virtual machine of a lab. Made by `Workspace.addVm`. */
export class LabVm extends LabMember<VmInterfaceOptions> {
  readonly #props: LabVmProps
  #isOnPodNetwork = false

  constructor(scope: Construct, name: string, props: LabVmProps) {
    super(scope, 'vms', name)
    this.#props = props
    for (const { name: user, password } of props.users ?? [])
      if (password !== undefined && typeof password !== 'object')
        throw new Error(
          `${this.node.path}: password of user ${JSON.stringify(user)} is a text: take a key of a Secret, or say plainText(...) if everybody may read it who may read the lab`,
        )
  }

  /** Gives the machine an interface on the pod network of Kubernetes, after those that it has. Without any `connect` it has one there anyway. */
  connectToPodNetwork(options: Omit<VmInterfaceOptions, 'addressing'> = {}): this {
    if (this.#isOnPodNetwork) throw new Error(`${this.node.path}: is on the pod network already`)
    this.#isOnPodNetwork = true
    this.addInterface('pod', options)
    return this
  }

  /** Returns what it says of its image; undefined if nothing. */
  imageTemplate(): { readonly image: string; readonly settings: object } | undefined {
    const { image, vmDiskImageTemplate: settings } = this.#props
    return settings === undefined ? undefined : { image: nameOfImage(image), settings }
  }

  toSpec(): VmSpec {
    const { image, cpu, memory, diskSize, disks, users, dependsOn, build, deploy, ...rest } = this.#props
    const interfaces = this.connections()
    const resources = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory: quantityOf(memory) }) }
    const roles = { ...(build && { build: [...build] }), ...(deploy && { deploy: [...deploy] }) }
    return this.patched({
      name: this.memberName,
      backingVMDiskImage: nameOfImage(image),
      ...(Object.keys(resources).length > 0 && { resources }),
      ...(diskSize !== undefined && { diskSize: quantityOf(diskSize) }),
      ...(disks && { disks: disks.map(diskSpec) }),
      ...(users && { users: users.map(userSpec) }),
      ...(interfaces.length > 0 && { interfaces }),
      ...(dependsOn && { dependsOn: dependsOn.map(({ memberName }) => memberName) }),
      ...(Object.keys(roles).length > 0 && { ansible: { roles } }),
      ...rest,
      // What is half given is a problem that the schema tells.
    } as VmSpec)
  }
}

function nameOfImage(image: LabImage): string {
  return typeof image === 'object' ? image.imageName : image
}

function diskSpec({ name, size, image, volume, readOnly, bus }: LabDisk): DiskSpec {
  return {
    name,
    ...(size !== undefined && { size: quantityOf(size) }),
    ...(image !== undefined && { backingVMDiskImage: nameOfImage(image) }),
    ...(volume !== undefined && { volume: volume.volumeName }),
    ...(readOnly !== undefined && { readOnly }),
    ...(bus !== undefined && { bus }),
  }
}

function userSpec({ name, password, sshKeys, sudo, groups }: LabUser): UserSpec {
  const rule = sudo === true ? 'ALL=(ALL) NOPASSWD:ALL' : sudo
  return {
    name,
    ...(password !== undefined && passwordOf(password)),
    ...(sshKeys && { ssh_authorized_keys: [...sshKeys] }),
    ...(typeof rule === 'string' && { sudo: rule }),
    ...(groups && groups.length > 0 && { groups: groups.join(',') }),
  }
}

function passwordOf(password: SecretKey | PlainText): Partial<UserSpec> {
  const given =
    'plainText' in password ? { plain_text_passwd: password.plainText } : { passwordSecretRef: secretKeyRef(password) }
  return { ...given, lock_passwd: false }
}
