import { isIP } from 'node:net'
import { type Cidr, isOnLink, parseCidr } from './addresses.ts'
import type { IpamConfig, NetworkConfig, PluginConfig } from './cni-config.ts'
import { NetworkError } from './selection.ts'

/** What a plugin is asked to attach. */
export interface Attachment {
  /** `namespace/name` of the NetworkAttachmentDefinition. */
  readonly definition: string
  readonly interface: string
  readonly mac: string | undefined
  readonly ips: readonly string[] | undefined
}

/** What a pod has after it is attached. */
export interface Attached {
  /** Addresses without their prefixes. */
  readonly ips: readonly string[]
  /** Undefined: the plugin generates one. */
  readonly mac: string | undefined
  /** Routes that its interface adds to those of the pod network, as `destination via next hop`. */
  readonly routes: readonly string[]
}

const LONGEST_DEVICE = 15
const DEFAULT_BRIDGE = 'cni0'

/**
 * Handles an ADD as the plugins of a network do: the `bridge` and `static` plugins of the CNI project, and the overlay of OVN-Kubernetes.
 * `bridge` gets addresses and MACs only if the configuration declares the capability. Throws {@link NetworkError} with their messages.
 */
export function addTo({ plugins }: NetworkConfig, attachment: Attachment): Attached {
  checkInterface(attachment.interface)
  const [first] = plugins
  switch (first?.type) {
    case 'bridge':
      return bridge(first, attachment)
    case 'ovn-k8s-cni-overlay':
      return overlay(first, attachment)
    default:
      throw new NetworkError(`failed to find plugin "${first?.type}" in path [/opt/cni/bin]`)
  }
}

function checkInterface(name: string): void {
  if (name.length > LONGEST_DEVICE) {
    throw new NetworkError('interface name is too long; interface name should be less than 16 characters')
  }
  if (/[/:\s]/.test(name)) throw new NetworkError('interface name contains / or : or whitespace characters')
}

function bridge(config: PluginConfig, { mac, ips, interface: device }: Attachment): Attached {
  const { ipam = {}, capabilities = {} } = config
  const isLayer3 = (ipam.type ?? '') !== ''
  checkBridge(config, isLayer3)
  const told = capabilities['mac'] === true ? mac : undefined
  if (!isLayer3) return { ips: [], mac: told, routes: [] }
  const addresses = assigned(ipam, capabilities['ips'] === true ? ips : undefined)
  if (addresses.length === 0) throw new NetworkError('IPAM plugin returned missing IP config')
  const routes = ipam.routes ?? []
  for (const route of routes) addRoute(route, addresses, device)
  const shown = routes.map(({ dst, gw }) => `${dst} via ${gw}`)
  return { ips: addresses.map(({ address }) => address), mac: told, routes: shown }
}

function checkBridge(config: PluginConfig, isLayer3: boolean): void {
  const { bridge: name = DEFAULT_BRIDGE, vlan = 0 } = config
  if (vlan < 0 || vlan > 4094) throw new NetworkError(`invalid VLAN ID ${vlan} (must be between 0 and 4094)`)
  if (isLayer3 && config.disableContainerInterface === true) {
    throw new NetworkError('cannot use IPAM when DisableContainerInterface flag is set')
  }
  if (config.hairpinMode === true && config.promiscMode === true) {
    throw new NetworkError('cannot set hairpin mode and promiscuous mode at the same time')
  }
  if (name === '' || name.length > LONGEST_DEVICE) {
    throw new NetworkError(`failed to create bridge "${name}": could not add "${name}": numerical result out of range`)
  }
}

/** Addresses of the request take precedence over those of the configuration. */
function assigned({ type, addresses = [], routes = [] }: IpamConfig, ips: readonly string[] | undefined): Cidr[] {
  if (type !== 'static') throw new NetworkError(`failed to find plugin "${type}" in path [/opt/cni/bin]`)
  for (const { dst = '', gw = '' } of routes) {
    if (parseCidr(dst) === undefined) throw new NetworkError(`invalid CIDR address: ${dst}`)
    if (gw !== '' && isIP(gw) === 0) throw new NetworkError(`invalid IP address: ${gw}`)
  }
  if (ips !== undefined && ips.length > 0) {
    return ips.map((ip) => parsed(ip, `an entry in the 'ips' field is NOT in CIDR notation, got: '${ip}'`))
  }
  return addresses.map(({ address }) =>
    parsed(address, `the 'address' field is expected to be in CIDR notation, got: '${address}'`),
  )
}

function parsed(text: string, refusal: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new NetworkError(refusal)
  return cidr
}

/** Throws the error of the kernel for a route whose next hop is not reachable by this interface, or is its own address. */
function addRoute(
  { dst, gw = '' }: { readonly dst?: string; readonly gw?: string },
  own: readonly Cidr[],
  device: string,
): void {
  if (gw === '') return
  const refused = (why: string) =>
    new NetworkError(
      `failed to add route '${dst} via ${gw} dev ${device} metric 0 (Scope: <nil>, Table: <nil>)': ${why}`,
    )
  if (own.some(({ address }) => address === gw)) throw refused('invalid argument')
  if (!own.some((one) => isOnLink(gw, one))) throw refused('network is unreachable')
}

/** OVN-Kubernetes takes addresses from the pod itself, whatever capabilities the configuration declares. */
function overlay(config: PluginConfig, { definition, mac, ips = [] }: Attachment): Attached {
  const { cniVersion, topology, netAttachDefName } = config
  if (netAttachDefName !== definition) {
    throw new NetworkError(
      `net-attach-def name (${definition}) is inconsistent with config (${netAttachDefName ?? ''})`,
    )
  }
  if (topology !== 'layer2') throw new NetworkError(`unsupported topology ${topology ?? ''} for network ${config.name}`)
  if (cniVersion !== '0.3.1') throw new NetworkError(`unsupported CNI version ${cniVersion ?? ''}, it must be 0.3.1`)
  const addresses = ips.map((ip) => parsed(ip, `failed to parse IP address "${ip}": invalid CIDR address: ${ip}`))
  return { ips: addresses.map(({ address }) => address), mac, routes: [] }
}
