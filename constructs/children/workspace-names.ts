import { childName, shortHash } from '../api/names.ts'
import { sha256Hex } from '../api/sha256.ts'

/** Length of the hash, within the 63 characters of a name, that keeps names unique across all workspaces. */
const CLUSTER_WIDE_HASH = 16
/** The name of a Linux interface, such as a bridge, has at most 15 characters. */
const BRIDGE_HASH = 12

/** Endings of names that other objects have: networks of pods, and root disks of machines. */
const TAKEN_BY_POD_NETWORK = /-(pod|[0-9a-f]{8})$/
const TAKEN_BY_ROOT_DISK = /-(root|[0-9a-f]{8})$/

/**
 * Returns the names of a network's NetworkAttachmentDefinitions, DNS-1123 labels of at most 63 characters. They depend only on the name of the
 * network, so that they do not change when another network is added or removed.
 */
export function networkNames(network: string): { readonly machines: string; readonly pods: string } {
  return { machines: ownName(network, TAKEN_BY_POD_NETWORK), pods: childName(network, 'pod') }
}

/** Returns the name of a volume's claim, a DNS-1123 label of at most 63 characters, which is never that of a machine's disk. */
export function claimName(volume: string): string {
  return ownName(volume, TAKEN_BY_ROOT_DISK)
}

/** Returns the name of a volume's PersistentVolume, which is unique across all workspaces. */
export function persistentVolumeName(workspace: string, volume: string): string {
  return clusterWideName(workspace, volume)
}

/** Returns the name of a network for CNI plugins, which do not know namespaces: two networks with the same name would be joined. */
export function cniNetworkName(namespace: string, network: string): string {
  return clusterWideName(namespace, network)
}

/** Returns the name of the Linux bridge of a network, 14 characters, which is unique across all workspaces on a node. */
export function bridgeName(namespace: string, network: string): string {
  return `ot${hashOf(namespace, network).slice(0, BRIDGE_HASH)}`
}

/** Returns the name of the ConfigMap with the inventory and the plays. */
export function ansibleName(workspace: string): string {
  return childName(workspace, 'ansible')
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
