import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import type { HostAlias } from '../api/host-aliases.ts'
import { ANNOTATIONS } from '../api/labels.ts'
import type { OperatingSystem } from '../api/machine-os.ts'
import { sha256Hex } from '../api/sha256.ts'
import { type GuestInterface, renderNetworkData } from './cloud-init-network-data.ts'
import { renderUserData, type UserDataProps } from './cloud-init-user-data.ts'
import {
  type CardWords,
  lackingCommands,
  renderCloudbaseNetworkData,
  renderCloudbaseUserData,
} from './cloudbase-init-data.ts'
import { guestHostsHash, withGuestHosts } from './guest-hosts.ts'
import type { ChildMetadata } from './image-child.ts'
import { render } from './render.ts'
import { type VMRef, vmChildMetadata, vmChildNames } from './virtual-machine-child.ts'

export interface CloudInitProps extends UserDataProps {
  /** Default: linux. */
  readonly os?: OperatingSystem | undefined
  /** Without any, the guest uses the default of cloud-init, which is DHCP. */
  readonly interfaces?: readonly GuestInterface[]
  /** Which addresses of its cards, and whether their MTU, are in the data of a Windows guest. Default: all. */
  readonly cardWords?: CardWords
}

/** The data that cloud-init, or cloudbase-init, reads in the guest, under the keys that KubeVirt looks for. Contains passwords. */
export interface CloudInitData {
  readonly userdata: string
  readonly networkdata?: string
}

export interface CloudInitSecretProps {
  readonly vm: VMRef
  /** From `renderCloudInit`. */
  readonly data: CloudInitData
  /** Names for /etc/hosts of a Linux guest, which are no part of the hash of `data`. Default: none. */
  readonly hostAliases?: readonly HostAlias[] | undefined
  /** Whether the annotation of names is there already. It is emptied then where there are none any more: a patch would leave it. Default: false. */
  readonly hasHostsAnnotation?: boolean
}

/** The object as it is sent. The API server converts `stringData` to `data`. */
export interface CloudInitSecretObject {
  readonly apiVersion: 'v1'
  readonly kind: 'Secret'
  readonly metadata: ChildMetadata
  readonly type: 'Opaque'
  readonly stringData: CloudInitData
}

/**
 * The only object that holds a password. Its annotation has a hash of the content, so that a client that watches metadata alone can tell
 * whether it is up to date; only those who may read the Secret see it.
 */
export class CloudInitSecret extends ApiObject {
  constructor(scope: Construct, id: string, { vm, data, hostAliases, hasHostsAnnotation }: CloudInitSecretProps) {
    const hosts = guestHostsHash(hostAliases) ?? (hasHostsAnnotation === true ? '' : undefined)
    super(scope, id, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: vmChildMetadata({
        vm,
        name: vmChildNames(vm.name).cloudInit,
        annotations: {
          [ANNOTATIONS.cloudInit]: cloudInitHash(data),
          ...(hosts !== undefined && { [ANNOTATIONS.hosts]: hosts }),
        },
      }),
      type: 'Opaque',
      stringData: { ...data, userdata: withGuestHosts(data.userdata, hostAliases) },
    })
  }
}

export function renderCloudInitSecret(props: CloudInitSecretProps): CloudInitSecretObject {
  const [object] = render((chart) => new CloudInitSecret(chart, 'Secret', props))
  return object as CloudInitSecretObject
}

export function renderCloudInit({ os, interfaces = [], cardWords, ...userData }: CloudInitProps): CloudInitData {
  if (os === 'windows') {
    return {
      userdata: renderCloudbaseUserData(userData, interfaces, cardWords),
      networkdata: interfaces.length === 0 ? undefined : renderCloudbaseNetworkData(interfaces, cardWords),
    }
  }
  return {
    userdata: renderUserData(userData),
    networkdata: interfaces.length === 0 ? undefined : renderNetworkData(interfaces),
  }
}

/** The data of a Windows guest as earlier versions rendered them. */
export interface EarlierCloudInit {
  readonly data: CloudInitData
  /** Commands for what the guest lacks with them. */
  readonly commands: readonly string[]
}

/** Returns them; undefined if they are those of now. */
export function earlierCloudInit(props: CloudInitProps): EarlierCloudInit | undefined {
  const commands = props.os === 'windows' ? lackingCommands(props.interfaces ?? []) : []
  return commands.length === 0 ? undefined : { data: renderCloudInit({ ...props, cardWords: 'first' }), commands }
}

/** Returns a hash of the data (16 hexadecimal digits). Only for the Secret's own annotation: with it a weak password could be guessed. */
export function cloudInitHash({ userdata, networkdata = '' }: CloudInitData): string {
  return sha256Hex(JSON.stringify([userdata, networkdata])).slice(0, 16)
}

/**
 * What stands for the data on objects that more people may read than the Secret (16 hexadecimal digits). It is salted with the Secret's
 * uid, which only those know who may read the Secret: nobody else can try passwords against it. It changes with the
 * data, and when the Secret was deleted and created again.
 */
export function cloudInitFingerprint(secretUid: string, hash: string): string {
  return sha256Hex(JSON.stringify([secretUid, hash])).slice(0, 16)
}
