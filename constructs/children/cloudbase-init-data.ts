import { addressingOf, staticAddresses } from '../api/interface-words.ts'
import { type IpPrefix, ipText, parseCidr } from '../api/ip-address.ts'
import { groupsOf } from '../api/virtual-machine-logins.ts'
import { cloudInitJson } from './cloud-init-json.ts'
import { type GuestInterface, type StaticRoute, usableRoutes } from './cloud-init-network-data.ts'
import { type CloudInitUser, cloudConfig, hasPasswordLogin, type UserDataProps } from './cloud-init-user-data.ts'
import { archiveOf, isMimeArchive, partOf } from './user-data-archive.ts'

/** If this is near the beginning, cloudbase-init parses the data as an archive. */
const MULTIPART = /(content-type):/gi
/** cloudbase-init saves a script under this name, and looks into it to see what runs it, because the name has no ending. */
const SCRIPT_NAME = 'userdata'

/**
 * Returns user data for cloudbase-init: a cloud-config with what it knows of that, or with user data of the spec an archive. The spec comes first there: a
 * part that asks for a restart ends the work, and what comes after it is left out. Contains passwords.
 */
export function renderCloudbaseUserData(props: UserDataProps, interfaces: readonly GuestInterface[]): string {
  const { hostname, userData } = props
  const config = windowsConfig(props, interfaces)
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

function windowsConfig({ users = [] }: UserDataProps, interfaces: readonly GuestInterface[]) {
  const groups = [...new Set(users.flatMap((user) => groupsOf(user.groups ?? '')))]
  const routes = settled(interfaces).flatMap((nic) => nic.routes.filter((route) => !isDefault(route)).map(routeCommand))
  return {
    groups: groups.length === 0 ? undefined : groups,
    users: users.length === 0 ? undefined : users.map(userEntry),
    // It takes no other routes than the default one from its network data.
    runcmd: routes.length === 0 ? undefined : routes,
  }
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
export function renderCloudbaseNetworkData(interfaces: readonly GuestInterface[]): string {
  const links = interfaces.map(({ macAddress }, at) => ({
    id: linkName(at),
    type: 'phy',
    ethernet_mac_address: macAddress,
  }))
  const networks = settled(interfaces).flatMap((nic) =>
    nic.addresses.map((address, at) => networkEntry(nic, address, at)),
  )
  return `${cloudInitJson({ links, networks, services: [] })}\n`
}

interface SettledInterface {
  readonly link: string
  readonly addresses: readonly IpPrefix[]
  readonly routes: readonly StaticRoute[]
  readonly nameservers: readonly string[]
}

function linkName(at: number): string {
  return `net${at}`
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
    return [{ link: linkName(at), addresses, routes, nameservers: nic.nameservers ?? [] }]
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
