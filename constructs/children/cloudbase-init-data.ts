import { addressingOf, IPV6_MTU, staticAddresses } from '../api/interface-words.ts'
import { type IpPrefix, ipText, isInNetwork, parseCidr, parseIp, prefixText } from '../api/ip-address.ts'
import { groupsOf } from '../api/virtual-machine-logins.ts'
import { cloudInitJson } from './cloud-init-json.ts'
import { type GuestInterface, LINK_LOCAL, type StaticRoute, usableRoutes } from './cloud-init-network-data.ts'
import { type CloudInitUser, cloudConfig, hasPasswordLogin, type UserDataProps } from './cloud-init-user-data.ts'
import { archiveOf, isMimeArchive, partOf } from './user-data-archive.ts'

/** If this is near the beginning, cloudbase-init parses the data as an archive. */
const MULTIPART = /(content-type):/gi
/** cloudbase-init saves a script under this name, and looks into it to see what runs it, because the name has no ending. */
const SCRIPT_NAME = 'userdata'
/** Bytes. Windows refuses more on a card without larger frames, and then cloudbase-init sets no address at all. */
const MTU_MAX = 1_500

/**
 * What the data have of a card. `all`: each address, and the MTU. `first`: as earlier versions rendered it, all addresses in the network data, of which
 * cloudbase-init keeps the last one of each family, and no MTU.
 */
export type CardWords = 'first' | 'all'

/**
 * Returns user data for cloudbase-init: a cloud-config with what it knows of that, or with user data of the spec an archive. The spec comes first there: a
 * part that asks for a restart ends the work, and what comes after it is left out. Contains passwords.
 */
export function renderCloudbaseUserData(
  props: UserDataProps,
  interfaces: readonly GuestInterface[],
  words: CardWords = 'all',
): string {
  const { hostname, userData } = props
  const config = windowsConfig(props, words === 'all' ? commandsFor(interfaces) : routeCommands(settled(interfaces)))
  // The metadata of KubeVirt have the host name, too. Here it is only what makes the text a cloud-config that is not empty.
  if (userData === undefined) return windowsText({ hostname, ...config })
  const ours = Object.values(config).some((value) => value !== undefined) ? [partOf(CONFIG, windowsText(config))] : []
  return archiveOf(userData, [...ours, theirPart(userData)])
}

const CONFIG = 'text/cloud-config'

function theirPart(userData: string): string {
  if (isMimeArchive(userData)) return userData
  if (userData.startsWith('#cloud-config')) return partOf(CONFIG, userData)
  return partOf('text/x-shellscript', userData, [`Content-Disposition: attachment; filename="${SCRIPT_NAME}"`])
}

function windowsText(config: object): string {
  return cloudConfig(config).replace(MULTIPART, '$1\\u003a')
}

function windowsConfig({ users = [] }: UserDataProps, commands: readonly string[]) {
  const groups = [...new Set(users.flatMap((user) => groupsOf(user.groups ?? '')))]
  return {
    groups: groups.length === 0 ? undefined : groups,
    users: users.length === 0 ? undefined : users.map(userEntry),
    runcmd: commands.length === 0 ? undefined : commands,
  }
}

/** Returns commands for what is not in the network data. Routes come last: a next hop may be in the network of an address that is added before. */
function commandsFor(interfaces: readonly GuestInterface[]): string[] {
  const cards = settled(interfaces)
  return [...cards.flatMap(mtuCommands), ...cards.flatMap(addressCommands), ...routeCommands(cards, isInNetworkData)]
}

/** cloudbase-init sets the MTU of IPv4 alone. */
function mtuCommands({ link, addresses, mtu }: SettledInterface): string[] {
  const isForIpv6 = mtu !== undefined && mtu >= IPV6_MTU && addresses.some(({ family }) => family === 6)
  return isForIpv6 ? [mtuCommand(6, link, mtu)] : []
}

function mtuCommand(family: 4 | 6, link: string, mtu: number): string {
  return `netsh interface ipv${family} set subinterface ${link} mtu=${mtu} store=persistent`
}

/** For each address in its network data, cloudbase-init removes those of the same family that the card has. */
function addressCommands({ link, addresses }: SettledInterface): string[] {
  const first = new Set(firstAddresses(addresses))
  return addresses
    .filter((address) => !first.has(address))
    .map((address) => {
      const what = address.family === 4 ? `${ipText(address)} ${maskText(address)}` : prefixText(address)
      return `netsh interface ipv${address.family} add address ${link} ${what}`
    })
}

function firstAddresses(addresses: readonly IpPrefix[]): IpPrefix[] {
  return addresses.filter(({ family }, at) => addresses.findIndex((one) => one.family === family) === at)
}

/** It takes no other routes than the default one from its network data. */
function routeCommands(
  cards: readonly SettledInterface[],
  isTold: (route: StaticRoute, card: SettledInterface) => boolean = isDefault,
): string[] {
  return cards.flatMap((card) => card.routes.filter((route) => !isTold(route, card)).map(routeCommand))
}

/** Reports whether a route is a default one by way of the first address of its family. */
function isInNetworkData(route: StaticRoute, { addresses }: SettledInterface): boolean {
  return isDefault(route) && isWithin(route.via, firstAddresses(addresses))
}

function isWithin(via: string, networks: readonly IpPrefix[]): boolean {
  const hop = parseIp(via)
  return hop !== undefined && [...networks, LINK_LOCAL].some((network) => isInNetwork(hop, network))
}

/** `passwd` is a text there, and without one the user gets a random password. */
function userEntry(user: CloudInitUser) {
  const groups = groupsOf(user.groups ?? '')
  return {
    name: user.name,
    passwd: hasPasswordLogin(user) ? user.plain_text_passwd : undefined,
    groups: groups.length === 0 ? undefined : groups,
    ssh_authorized_keys: user.ssh_authorized_keys?.length ? user.ssh_authorized_keys : undefined,
  }
}

/**
 * Returns network data as OpenStack has them, as one line of JSON: of the drives that KubeVirt offers, cloudbase-init looks for that of OpenStack by default.
 * It finds the cards by MAC address and names them `net0`, `net1`, ... in their order.
 */
export function renderCloudbaseNetworkData(interfaces: readonly GuestInterface[], words: CardWords = 'all'): string {
  const links = interfaces.map((nic, at) => ({
    id: linkName(at),
    type: 'phy',
    ethernet_mac_address: nic.macAddress,
    mtu: words === 'all' ? toldMtu(nic) : undefined,
  }))
  const networks = settled(interfaces).flatMap((nic) => {
    if (words === 'first') return nic.addresses.map((address, at) => networkEntry(nic, address, at))
    const told = { ...nic, routes: nic.routes.filter((route) => isInNetworkData(route, nic)) }
    return firstAddresses(nic.addresses).map((address, at) => networkEntry(told, address, at))
  })
  return `${cloudInitJson({ links, networks, services: [] })}\n`
}

interface SettledInterface {
  readonly link: string
  readonly addresses: readonly IpPrefix[]
  readonly routes: readonly StaticRoute[]
  readonly nameservers: readonly string[]
  /** Undefined: none that Windows can be told. */
  readonly mtu: number | undefined
}

function toldMtu({ mtu }: GuestInterface): number | undefined {
  return mtu === undefined || mtu > MTU_MAX ? undefined : mtu
}

function linkName(at: number): string {
  return `net${at}`
}

/** Returns commands for what a guest lacks whose data are those of `first`. Empty if it lacks nothing: then `first` and `all` are the same data. */
export function lackingCommands(interfaces: readonly GuestInterface[]): string[] {
  const mtus = interfaces.flatMap((nic, at) => {
    const mtu = toldMtu(nic)
    return mtu === undefined ? [] : [mtuCommand(4, linkName(at), mtu)]
  })
  const cards = settled(interfaces).map((card) => ({ ...card, addresses: card.addresses.toReversed() }))
  // Their next hops were out of reach at the first start.
  const routes = routeCommands(cards, ({ via }, { addresses }) => isWithin(via, firstAddresses(addresses)))
  return [...mtus, ...cards.flatMap(mtuCommands), ...cards.flatMap(addressCommands), ...routes]
}

/** Returns the interfaces with addresses of their own. If several have a default route of a family, that of the first one is used. */
function settled(interfaces: readonly GuestInterface[]): SettledInterface[] {
  const defaults = new Set<string>()
  return interfaces.flatMap((nic, at) => {
    if (addressingOf(nic) !== 'static') return []
    const addresses = staticAddresses(nic).flatMap((text) => parseCidr(text) ?? [])
    const routes = usableRoutes(nic).filter((route) => {
      const isTaken = isDefault(route) && defaults.has(route.to)
      if (isDefault(route)) defaults.add(route.to)
      return !isTaken
    })
    return [{ link: linkName(at), addresses, routes, nameservers: nic.nameservers ?? [], mtu: toldMtu(nic) }]
  })
}

function isDefault({ to }: StaticRoute): boolean {
  return to.endsWith('/0')
}

function networkEntry({ link, routes, nameservers }: SettledInterface, address: IpPrefix, at: number): object {
  const { family } = address
  const gateways = routes.filter((route) => isDefault(route) && parseCidr(route.to)?.family === family)
  const any = maskText({ ...address, length: 0 })
  return {
    id: `${link}-${at}`,
    link,
    type: `ipv${family}`,
    ip_address: ipText(address),
    netmask: maskText(address),
    routes: gateways.map(({ via }) => ({ network: any, netmask: any, gateway: via })),
    services: nameservers.map((server) => ({ type: 'dns', address: server })),
  }
}

function maskText({ family, length }: IpPrefix): string {
  const bits = family === 4 ? 32 : 128
  return ipText({ family, value: ((1n << BigInt(length)) - 1n) << BigInt(bits - length) })
}

/** A command of Windows that adds a route and keeps it. The card follows from the next hop. */
function routeCommand({ to, via }: StaticRoute): string {
  const network = parseCidr(to)
  return network?.family === 4
    ? `route -p add ${ipText(network)} mask ${maskText(network)} ${via}`
    : `route -p add ${to} ${via}`
}
