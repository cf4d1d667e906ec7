import type { Size } from 'cdk8s'
import type { Construct } from 'constructs'
import { eachAs, hasFields, isGiven, itemsOf, namesOf, requireProps } from './given-values.ts'
import { keepInside, type VmInside } from './inside.ts'
import { LabMember } from './lab-member.ts'
import { joinLab, requireOwn } from './lab-part.ts'
import type { LabRole } from './lab-role.ts'
import { type PlainTextPassword, type SecretKey, secretKeyRef } from './lab-secret.ts'
import { wordsOfMember } from './member-words.ts'
import { noteChange } from './node-problems.ts'
import { quantityOf } from './plain-values.ts'
import type {
  WorkspaceVmDiskProps,
  WorkspaceVmInterfaceProps,
  WorkspaceVmProps,
  WorkspaceVmUserProps,
} from './spec-props.ts'

/** A VMDiskImage: that of a `Release`, a `VMDiskImage` of the same program, or its name. */
export type LabImage = string | { readonly imageName: string } | ImageOfApp

/** A VMDiskImage that an object of the same program makes. */
export interface ImageOfApp {
  /** Its name, such as redblue-1.4.0-kali. */
  readonly imageName: string
  /** Its namespace, such as vmdi-farm; undefined if only who applies it says. */
  readonly imageNamespace: string | undefined
}

/** A user of a guest. */
export interface LabUser {
  /** Name of the user, such as alice. */
  readonly name: string
  /** Password: a key of a Secret, or plainText. With one, the user may log in with it. Default: none, no login with a password. */
  readonly password?: SecretKey | PlainTextPassword
  /** Public keys in one line each, as in the file authorized_keys, such as 'ssh-ed25519 AAAA... alice'. Default: none. */
  readonly sshKeys?: readonly string[]
  /** True: may run everything as root, without a password. A text: a rule for sudo, such as 'ALL=(ALL) ALL'. Default: false. */
  readonly sudo?: boolean | string
  /** Further groups, such as docker. Default: none. */
  readonly groups?: readonly string[]
}

/** A disk of a machine beside its root disk: empty with a size, a clone of an image, or a volume of the lab. */
export interface LabDisk {
  /** Name of the disk, at most 20 characters, such as data. The guest sees it as its serial number. */
  readonly name: string
  /** Size of an empty disk, or of the clone: a quantity such as 20Gi, a number of bytes, or a Size. Default: none, and for a clone that of its image. */
  readonly size?: Size | string | number
  /** Image that the disk is a clone of, such as `release.image('tools')`. Default: none. */
  readonly image?: LabImage
  /** Volume of the lab that the disk is. Default: none. */
  readonly volume?: { readonly volumeName: string }
  /** True: the image is a CD-ROM. Default: false. */
  readonly readOnly?: boolean
  /** How the guest sees the disk. Default: virtio, and sata for a CD-ROM. */
  readonly bus?: WorkspaceVmDiskProps['bus']
}

/** What else may be said of an interface of a machine. */
export interface VmInterfaceOptions {
  /** How the guest gets its addresses. Default: static with addresses, else dhcp. */
  readonly addressing?: 'static' | 'dhcp' | 'none'
  /** MAC address such as 52:54:00:12:34:56. Default: one that follows from machine and network, and stays. */
  readonly macAddress?: string
  /** Network card that the guest finds. Default: virtio. */
  readonly model?: WorkspaceVmInterfaceProps['model']
}

/** What a machine of a lab is: its image, and all fields of a machine in the spec that have no other form here. */
export interface LabVmProps
  extends Omit<
    WorkspaceVmProps,
    | 'name'
    | 'backingVMDiskImage'
    | 'resources'
    | 'diskSize'
    | 'disks'
    | 'users'
    | 'interfaces'
    | 'dependsOn'
    | 'ansible'
  > {
  /** Image that the root disk is cloned from, such as `release.image('kali')`, or its name. */
  readonly image: LabImage
  /** Virtual CPUs, such as 2 or 500m. Needed with memory, unless an instance type gives both. Default: none. */
  readonly cpu?: number | string
  /** Memory of the guest: a quantity such as 2Gi, a number of bytes, or a Size. Needed with cpu. Default: none. */
  readonly memory?: Size | string | number
  /** Size of the root disk: a quantity such as 24Gi, a number of bytes, or a Size. Default: the size of the image. */
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

/**
 * A virtual machine of a lab. Made by `Workspace.addVm`, or in a construct below the lab, such as one of your own.
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 * import { Size } from 'cdk8s'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const lan = lab.addNetwork('lan', { cidr: '10.10.0.0/24' })
 * const logins = lab.addSecret('logins', { generate: ['alice'] })
 * lab
 *   .addVm('kali', {
 *     image: 'kali',
 *     cpu: 2,
 *     memory: Size.gibibytes(4),
 *     users: [{ name: 'alice', password: logins.key('alice'), sudo: true }],
 *   })
 *   .connect(lan, 11)
 * ```
 */
export class LabVm extends LabMember<VmInterfaceOptions> {
  readonly #props: LabVmProps
  #isOnPodNetwork = false

  constructor(scope: Construct, name: string, props: LabVmProps) {
    super(scope, 'vms', name)
    requireProps(this, props, "{ image: release.image('kali'), cpu: 2, memory: '4Gi' }")
    this.#props = props
    noteChange(this)
    requireOwn(this, 'member', ...itemsOf(props.dependsOn))
    requireOwn(this, 'volume', ...itemsOf(props.disks).map((disk) => disk?.volume))
    requireOwn(this, 'Secret', ...itemsOf(props.users).map((user) => user?.password))
    for (const user of itemsOf(props.users))
      if (user?.password !== undefined && !hasFields(user.password))
        throw new Error(
          `${this.node.path}: password of user ${JSON.stringify(user.name)} is a text: take a key of a Secret, or say plainText(...) if everybody may read it who may read the lab`,
        )
    const inside: VmInside = {
      isPatched: (...fields) => wordsOfMember(this).isPatched(fields),
      imageTemplate: () => templateIn(props),
      imageTexts: () => imageTextsIn(props),
      imagesOfApp: () => imagesOfAppIn(props),
      toSpec: () => wordsOfMember(this).patched(this.#toSpec()),
    }
    keepInside(this, inside)
    joinLab(this, 'vms', new.target)
  }

  /** Gives the machine an interface on the pod network of Kubernetes, after those that it has. Without any `connect` it has one there anyway. */
  connectToPodNetwork(options: Omit<VmInterfaceOptions, 'addressing'> = {}): this {
    if (this.#isOnPodNetwork) throw new Error(`${this.node.path}: is on the pod network already`)
    this.#isOnPodNetwork = true
    wordsOfMember(this).connections.push({ networkName: 'pod', network: undefined, prefixes: [], words: options })
    return this
  }

  #toSpec(): object {
    const { image, cpu, memory, diskSize, disks, users, dependsOn, build, deploy, ...rest } = this.#props
    const interfaces = wordsOfMember(this).interfaces()
    const resources = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory: quantityOf(memory) }) }
    const roles = { ...(isGiven(build) && { build }), ...(isGiven(deploy) && { deploy }) }
    return {
      name: this.memberName,
      backingVMDiskImage: nameOfImage(image),
      ...(Object.keys(resources).length > 0 && { resources }),
      ...(diskSize !== undefined && { diskSize: quantityOf(diskSize) }),
      ...(isGiven(disks) && { disks: eachAs(disks, diskSpec) }),
      ...(isGiven(users) && { users: eachAs(users, userSpec) }),
      ...(interfaces.length > 0 && { interfaces }),
      ...(isGiven(dependsOn) && { dependsOn: namesOf(dependsOn) }),
      ...(Object.keys(roles).length > 0 && { ansible: { roles } }),
      ...rest,
      // What is half given is a problem that the schema tells.
    }
  }
}

function templateIn({ image, vmDiskImageTemplate: settings }: LabVmProps) {
  return settings === undefined ? undefined : { image: nameOfImage(image), settings }
}

function imageTextsIn({ image, vmDiskImageTemplate, disks = [] }: LabVmProps): readonly string[] {
  const root = vmDiskImageTemplate === undefined ? [image] : []
  return [...root, ...itemsOf(disks).map((disk) => disk?.image)].filter((one) => typeof one === 'string')
}

function imagesOfAppIn({ image, disks = [] }: LabVmProps): readonly ImageOfApp[] {
  return [image, ...itemsOf(disks).map((disk) => disk?.image)].filter(
    (one): one is ImageOfApp => hasFields(one) && 'imageNamespace' in one,
  )
}

function nameOfImage(image: LabImage): string {
  return hasFields(image) ? image.imageName : image
}

function diskSpec({ name, size, image, volume, readOnly, bus }: LabDisk): WorkspaceVmDiskProps {
  return {
    name,
    ...(size !== undefined && { size: quantityOf(size) }),
    ...(image !== undefined && { backingVMDiskImage: nameOfImage(image) }),
    ...(volume !== undefined && { volume: volume?.volumeName }),
    ...(readOnly !== undefined && { readOnly }),
    ...(bus !== undefined && { bus }),
  }
}

function userSpec({ name, password, sshKeys, sudo, groups }: LabUser): object {
  const rule = sudo === true ? 'ALL=(ALL) NOPASSWD:ALL' : sudo
  return {
    name,
    ...(password !== undefined && passwordOf(password)),
    ...(isGiven(sshKeys) && { ssh_authorized_keys: sshKeys }),
    ...(rule !== undefined && rule !== false && { sudo: rule }),
    ...(isGiven(groups) && groups?.length !== 0 && { groups: Array.isArray(groups) ? groups.join(',') : groups }),
  }
}

function passwordOf(password: SecretKey | PlainTextPassword): Partial<WorkspaceVmUserProps> {
  const given =
    'plainText' in password ? { plain_text_passwd: password.plainText } : { passwordSecretRef: secretKeyRef(password) }
  return { ...given, lock_passwd: false }
}
