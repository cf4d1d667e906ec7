import { childName, shortHash } from '../api/names.ts'
import { sha256Hex } from '../api/sha256.ts'

/** Of 63 characters of a name, what is left for a hash that tells names of all workspaces apart. */
const CLUSTER_WIDE_HASH = 16
/** A Linux interface, such as a bridge, has at most 15 characters. */
const BRIDGE_HASH = 12

/** Names that objects beside the one of that name have: those of pods on a network, and of root disks of machines. */
const TAKEN_BY_POD_NETWORK = /-(pod|[0-9a-f]{8})$/
const TAKEN_BY_ROOT_DISK = /-(root|[0-9a-f]{8})$/

/**
 * Names of a network's NetworkAttachmentDefinitions, DNS-1123 labels of at most 63 characters. They follow from the name of the network alone, so
 * that none changes when another network comes or goes.
 */
export function networkNames(network: string): { readonly machines: string; readonly pods: string } {
  return { machines: ownName(network, TAKEN_BY_POD_NETWORK), pods: childName(network, 'pod') }
}

/** Name of a volume's claim, a DNS-1123 label of at most 63 characters, which is never that of a machine's disk. */
export function claimName(volume: string): string {
  return ownName(volume, TAKEN_BY_ROOT_DISK)
}

/** Name of a volume's PersistentVolume, which all workspaces share the names of. */
export function persistentVolumeName(workspace: string, volume: string): string {
  return clusterWideName(workspace, volume)
}

/** Name of a network to CNI plugins, which know no namespaces: equal names of two networks would join them. */
export function cniNetworkName(namespace: string, network: string): string {
  return clusterWideName(namespace, network)
}

/** Name of the Linux bridge of a network, 14 characters: all workspaces on a node share the names of bridges. */
export function bridgeName(namespace: string, network: string): string {
  return `ot${hashOf(namespace, network).slice(0, BRIDGE_HASH)}`
}

/** Name of the ConfigMap with the inventory and the plays. */
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
