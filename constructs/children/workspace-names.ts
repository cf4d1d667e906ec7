import { childName, shortHash } from '../api/names.ts'
import { sha256Hex } from '../api/sha256.ts'
import type { WorkspaceRef } from './workspace-child.ts'

/** Length of the hash, within the 63 characters of a name, that keeps names unique across all workspaces. */
const CLUSTER_WIDE_HASH = 16
/** The name of a Linux interface, such as a bridge, has at most 15 characters. These are all that are left: 67 bits. */
const BRIDGE_HASH = 13
/** Hexadecimal digits in the names of earlier versions. */
const BRIDGE_HASH_OF_BEFORE = 12
/** Every Linux bridge of a workspace has a name that begins with this. The rules that isolate a node select the bridges by it. */
export const BRIDGE_PREFIX = 'ot'

/** Endings of names that other objects have: networks of pods, and root disks of machines. */
const TAKEN_BY_POD_NETWORK = /-(pod|[0-9a-f]{8})$/
const CLUSTER_NETWORK = /-pod-[0-9a-f]{8}$/
const TAKEN_BY_ROOT_DISK = /-(root|[0-9a-f]{8})$/

/**
 * Returns the names of a network's NetworkAttachmentDefinitions, DNS-1123 labels of at most 63 characters. They depend only on the name of the
 * network, so that they do not change when another network is added or removed.
 */
export function networkNames(network: string): { readonly machines: string; readonly pods: string } {
  return { machines: ownName(network, TAKEN_BY_POD_NETWORK), pods: childName(network, 'pod') }
}

/**
 * Returns the name of a NetworkAttachmentDefinition that is for one container cluster. It depends on the content, so a pod whose routes change is
 * replaced, because its annotation changes.
 */
export function clusterNetworkName(network: string, cluster: string, config: object): string {
  return childName(network, `pod-${shortHash([cluster, JSON.stringify(config)])}`)
}

/** Reports whether a NetworkAttachmentDefinition of a workspace is for one container cluster. */
export function isClusterNetworkName(name: string): boolean {
  return CLUSTER_NETWORK.test(name)
}

/** Returns the name of a volume's claim, a DNS-1123 label of at most 63 characters, which is never that of a machine's disk. */
export function claimName(volume: string): string {
  return ownName(volume, TAKEN_BY_ROOT_DISK)
}

/** Returns the name of a volume's PersistentVolume, which is unique across all workspaces. */
export function persistentVolumeName(workspace: string, volume: string): string {
  return clusterWideName(workspace, volume)
}

/** What nodes know a network by. Two networks with the same would be joined. */
export interface LinkNames {
  /** For CNI plugins, which do not know namespaces. */
  readonly cni: string
  /** Of its Linux bridge, at most 15 characters. */
  readonly bridge: string
}

/**
 * Returns the names of a network on nodes. The uid of the workspace is in them: it is random and only known once the workspace exists, so nobody can
 * choose the names of a workspace and its networks so that they are those of another one.
 */
export function linkNames({ name, uid }: WorkspaceRef, network: string): LinkNames {
  const hash = hashOf(uid, network)
  return {
    cni: childName(`${name}-${network}`, hash.slice(0, CLUSTER_WIDE_HASH)),
    bridge: `${BRIDGE_PREFIX}${BigInt(`0x${hash}`).toString(36).slice(-BRIDGE_HASH)}`,
  }
}

/** Returns the names that versions up to 0.1.0 of the operator gave to a network. It keeps them: members that run are on its bridge. */
export function linkNamesOfBefore({ name }: Pick<WorkspaceRef, 'name'>, network: string): LinkNames {
  return {
    cni: clusterWideName(name, network),
    bridge: `${BRIDGE_PREFIX}${hashOf(name, network).slice(0, BRIDGE_HASH_OF_BEFORE)}`,
  }
}

/** Returns the name of the ConfigMap with the inventory and the plays. */
export function ansibleName(workspace: string): string {
  return childName(workspace, 'ansible')
}

/** Returns the name of the ConfigMap with what plays them needs besides. */
export function playsName(workspace: string): string {
  return childName(workspace, 'plays')
}

function ownName(name: string, taken: RegExp): string {
  return taken.test(name) ? childName(name, shortHash([name])) : name
}

function clusterWideName(namespace: string, name: string): string {
  return childName(`${namespace}-${name}`, hashOf(namespace, name).slice(0, CLUSTER_WIDE_HASH))
}

function hashOf(namespace: string, name: string): string {
  return sha256Hex(JSON.stringify([namespace, name]))
}
