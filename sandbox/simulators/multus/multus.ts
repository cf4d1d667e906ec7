import { createHash } from 'node:crypto'
import { isApiError } from '../../../operator/kube/api-error.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { NETWORK_ATTACHMENT_DEFINITION } from '../../../operator/kube/resource-types.ts'
import { type Pod, uidOf } from '../models.ts'
import type { World } from '../world.ts'
import { checkConfig, loadConfig, type NetworkConfig } from './cni-config.ts'
import { addTo } from './plugins.ts'
import { NetworkError, type NetworkSelection, parseSelections } from './selection.ts'

/** On a pod: the networks that Multus must attach. */
export const MULTUS_NETWORKS = 'k8s.v1.cni.cncf.io/networks'
/** On a pod: what Multus has attached. */
const NETWORK_STATUS = 'k8s.v1.cni.cncf.io/network-status'

interface Definition extends KubeObject {
  readonly spec?: { readonly config?: string }
}

export type Attaching =
  /** The value of {@link NETWORK_STATUS}. */
  | { readonly status: string }
  /** Why the containers have no sandbox. `<id>` stands for the ID of the sandbox that was tried. */
  | { readonly problem: string }

/**
 * Attaches a pod to the networks that it asks for, as Multus does before any container starts. Returns undefined if it
 * asks for none. Attaches all networks or none. Like Multus 4.2.2 and newer it ignores `default-route` of a network: the pod keeps the default route
 * of the pod network.
 */
export async function attach(world: World, pod: Pod): Promise<Attaching | undefined> {
  const asked = pod.metadata.annotations?.[MULTUS_NETWORKS]
  if (asked === undefined || asked === '') return undefined
  const { namespace = '', name } = pod.metadata
  const intro = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "<id>": plugin type="multus" failed (add):`
  const id = `${namespace}/${name}/${uidOf(pod)}`
  try {
    const selections = parseSelections(asked, namespace)
    const networks = await Promise.all(
      selections.map(async (selection) => ({ selection, config: await configOf(world, selection) })),
    )
    const attached = networks.map(({ selection, config }, at) => {
      try {
        return attachOne(pod, selection, config, at)
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error
        const what = `error adding container to network "${config.name}": ${error.message}`
        throw new Problem(`[${id}:${config.name}]: ${what}`)
      }
    })
    const names = attached.map((one) => one.interface)
    const twice = names.find((one, at) => names.indexOf(one) < at)
    if (twice !== undefined) {
      const why = `validateIfName: interface name ${twice} already exists`
      throw new Problem(`[${id}]: DelegateAdd: cannot set interface name to "${twice}": ${why}`)
    }
    return { status: JSON.stringify([podNetwork(pod), ...attached], undefined, 4) }
  } catch (error) {
    if (error instanceof Problem) return { problem: `${intro} ${error.message}` }
    if (!(error instanceof NetworkError)) throw error
    return { problem: `${intro} Multus: [${id}]: error loading k8s delegates k8s args: ${error.message}` }
  }
}

/** Returns the pod as Multus writes it: together with its status, in one request. */
export function attached(pod: Pod, status: string): Pod {
  const { annotations } = pod.metadata
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...annotations, [NETWORK_STATUS]: status } } }
}

class Problem extends Error {}

async function configOf(world: World, { namespace, name }: NetworkSelection): Promise<NetworkConfig> {
  const { client, signal } = world
  try {
    const found = await client.get<Definition>(NETWORK_ATTACHMENT_DEFINITION, { namespace, name }, { signal })
    return loadConfig(found.spec?.config, name)
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    throw new NetworkError(
      `TryLoadPodDelegates: error in getting k8s network for pod: GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a network-attachment-definition (${name}) in namespace (${namespace}): ${error.message}`,
    )
  }
}

function attachOne(pod: Pod, selection: NetworkSelection, config: NetworkConfig, at: number): StatusEntry {
  checkConfig(config)
  const definition = `${selection.namespace}/${selection.name}`
  const device = selection.interface ?? `net${at + 1}`
  const { mac, ips } = addTo(config, { definition, interface: device, mac: selection.mac, ips: selection.ips })
  return {
    name: definition,
    interface: device,
    ...(ips.length > 0 && { ips }),
    mac: (mac ?? madeUp(`${uidOf(pod)} ${device}`)).toLowerCase(),
    dns: {},
  }
}

interface StatusEntry {
  readonly name: string
  readonly interface: string
  readonly ips?: readonly string[]
  readonly mac: string
  readonly default?: boolean
  readonly dns: object
}

/** Returns the entry of the network that every pod is on. */
function podNetwork(pod: Pod): StatusEntry {
  const mac = madeUp(`${uidOf(pod)} eth0`)
  return { name: '', interface: 'eth0', ips: [podAddress(pod)], mac, default: true, dns: {} }
}

/** Returns the address of a pod on the network that all pods are on. */
export function podAddress(pod: Pod): string {
  const [third = 0, fourth = 0] = createHash('sha256').update(uidOf(pod)).digest()
  return `10.244.${third}.${fourth}`
}

function madeUp(what: string): string {
  const digest = createHash('sha256').update(what).digest('hex')
  return `02:${[2, 4, 6, 8, 10].map((at) => digest.slice(at, at + 2)).join(':')}`
}
