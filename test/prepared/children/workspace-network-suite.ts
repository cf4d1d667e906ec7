import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isOnPodNetwork, staticAddresses } from '../../../constructs/api/interface-words.ts'
import { networkOf, parseCidr, prefixText } from '../../../constructs/api/ip-address.ts'
import { NETWORK_DRIVERS, type NetworkDriver } from '../../../constructs/api/policy.ts'
import type { WorkspaceContainerCluster, WorkspaceNetwork } from '../../../constructs/api/workspace.ts'
import { linkNames } from '../../../constructs/children/workspace-names.ts'
import type { PodNetwork } from '../../../constructs/children/workspace-pod-network.ts'
import { checkConfig, loadConfig } from '../../../sandbox/simulators/multus/cni-config.ts'
import { MULTUS_NETWORKS } from '../../../sandbox/simulators/multus/multus.ts'
import { type Attachment, addTo } from '../../../sandbox/simulators/multus/plugins.ts'
import { parseSelections } from '../../../sandbox/simulators/multus/selection.ts'
import { type RandomWorkspace, randomWorkspace } from './random-workspaces.ts'
import { type RenderedWorkspace, renderAll } from './rendered-workspace.ts'

interface CniConfig {
  readonly cniVersion: string
  readonly name: string
  readonly type: string
  readonly bridge?: string
  readonly capabilities?: { readonly ips?: boolean; readonly mac?: boolean }
  readonly ipam?: { readonly type?: string; readonly routes?: readonly { readonly dst: string; readonly gw: string }[] }
  readonly topology?: string
  readonly netAttachDefName?: string
}

/** As defined in libcni. */
const CNI_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
/** As the kernel accepts it, without characters that break scripts. */
const LINK_NAME = /^[a-z][a-z0-9]{0,14}$/
/** Locally administered, unicast. */
const MAC = /^(02|52:54:00)(:[0-9a-f]{2}){3,5}$/

/** @param runs number of random workspaces for each driver */
export function workspaceNetworkSuite(runs: number): void {
  it.each(NETWORK_DRIVERS)(
    `are such as Multus and the plugins take them, in ${runs} workspaces at random, by %s`,
    (driver) => {
      fc.assert(
        fc.property(randomWorkspace, (random) => {
          const rendered = renderAll(random, driver)
          for (const [at, network] of (random.spec.networks ?? []).entries())
            checkDefinitions(random, network, rendered.networks[at] ?? [], driver)
          for (const deployment of rendered.clusters) checkPod(random, rendered, networksOf(deployment), driver)
          checkMacs(rendered)
          attachAll(random, rendered, driver)
        }),
        { numRuns: runs },
      )
    },
  )

  it(`are those of one network of one workspace alone, in ${runs} pairs of workspaces at random`, () => {
    fc.assert(
      fc.property(randomWorkspace, randomWorkspace, (one, other) => {
        const pairs = [one, other].flatMap(({ workspace, spec }) =>
          (spec.networks ?? []).map(({ name }) => ({
            names: linkNames(workspace, name),
            of: JSON.stringify([workspace.uid, name]),
          })),
        )
        const { size } = new Set(pairs.map(({ of }) => of))
        for (const key of ['bridge', 'cni'] as const)
          expect(new Set(pairs.map(({ names }) => names[key])).size).toBe(size)
      }),
      { numRuns: runs },
    )
  })
}

function checkDefinitions(
  { workspace, spec }: RandomWorkspace,
  network: WorkspaceNetwork,
  definitions: RenderedWorkspace['networks'][number],
  driver: NetworkDriver,
): void {
  const configs = definitions.map(({ spec: { config } }) => JSON.parse(config) as CniConfig)
  for (const { cniVersion, name, type, bridge } of configs) {
    expect(cniVersion).toBe('0.3.1')
    expect(name).toBe(linkNames(workspace, network.name).cni)
    expect(name).toMatch(CNI_NAME)
    expect(type).toBe(driver === 'bridge' ? 'bridge' : 'ovn-k8s-cni-overlay')
    if (driver === 'bridge') expect(bridge).toMatch(LINK_NAME)
  }
  const [machines, pods] = configs
  if (driver === 'ovn-layer2') {
    expect(configs).toHaveLength(1)
    const { namespace, name } = definitions[0]?.metadata ?? {}
    expect(machines).toMatchObject({ topology: 'layer2', netAttachDefName: `${namespace}/${name}` })
    return
  }
  expect(machines).toMatchObject({ capabilities: { mac: true }, ipam: {} })
  expect(machines?.capabilities?.ips).toBeUndefined()
  expect(pods).toMatchObject({
    bridge: machines?.bridge,
    capabilities: { ips: true, mac: true },
    ipam: { type: 'static' },
  })
  const own = (spec.containerClusters ?? []).flatMap(({ interfaces = [] }) =>
    interfaces.filter((one) => one.network === network.name).map(staticAddresses),
  )
  const routes = pods?.ipam?.routes ?? []
  for (const { dst, gw } of routes) {
    expect(networkAt(dst)).toBe(dst)
    expect(dst).not.toMatch(/\/0$/)
    for (const addresses of own.filter(({ length }) => length > 0))
      expect(addresses.some((one) => isNeighbour(gw, one))).toBe(true)
  }
  expect(new Set(routes.map(({ dst }) => dst)).size).toBe(routes.length)
}

/** Returns the network of an address in CIDR form. */
function networkAt(cidr: string): string {
  const prefix = parseCidr(cidr)
  if (prefix === undefined) throw new Error(`${cidr} is no address in CIDR form`)
  return prefixText(networkOf(prefix))
}

function areNeighbours(hop: string, own: readonly string[]): boolean {
  return own.some((one) => isNeighbour(hop, one)) && !own.some((one) => one.split('/')[0] === hop)
}

function isNeighbour(hop: string, own: string): boolean {
  const [address = '', length] = own.split('/')
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  const link = new BlockList()
  link.addSubnet(address, Number(length), family)
  if (isIPv6(hop) !== isIPv6(address)) return false
  return hop !== address && (link.check(hop, family) || hop.startsWith('fe80:'))
}

function checkPod(
  { workspace, spec }: RandomWorkspace,
  rendered: RenderedWorkspace,
  networks: readonly PodNetwork[],
  driver: NetworkDriver,
): void {
  const withAddresses = new Map(
    [...rendered.networks, ...rendered.clusterNetworks].flat().flatMap(({ metadata, spec: { config } }) => {
      const { type, capabilities } = JSON.parse(config) as CniConfig
      return type === 'bridge' && capabilities?.ips !== true ? [] : [[metadata.name, config]]
    }),
  )
  for (const [at, each] of networks.entries()) {
    const { ips = [] } = each
    expect(withAddresses.has(each.name)).toBe(driver !== 'bridge' || ips.length > 0)
    expect(each.namespace).toBe(workspace.name)
    expect(each.interface).toBe(`net${at + 1}`)
    expect(each.interface).toMatch(LINK_NAME)
    expect(each.mac).toMatch(MAC)
    const cidrs = (spec.networks ?? []).flatMap(({ cidr }) => (cidr === undefined ? [] : [networkAt(cidr)]))
    if (cidrs.length === spec.networks?.length) for (const ip of ips) expect(cidrs).toContain(networkAt(ip))
    for (const gateway of each['default-route'] ?? []) expect(ips.some((ip) => isNeighbour(gateway, ip))).toBe(true)
  }
  const gateways = networks.flatMap((each) => each['default-route'] ?? [])
  // Newer versions of Multus ignore it.
  if (driver === 'bridge') expect(gateways).toEqual([])
  for (const isV6 of [false, true])
    expect(gateways.filter((one) => one.includes(':') === isV6).length).toBeLessThanOrEqual(1)
}

/** Checks that the plugins of the sandbox accept the networks for pods and for launchers. They report what the real ones report. */
function attachAll(
  { spec: { networks: asked = [], containerClusters = [] } }: RandomWorkspace,
  rendered: RenderedWorkspace,
  driver: NetworkDriver,
): void {
  const { networks, clusterNetworks, clusters, machines } = rendered
  const definitions = new Map(
    [...networks, ...clusterNetworks]
      .flat()
      .map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec.config]),
  )
  const attach = (definition: string, attachment: Omit<Attachment, 'definition'>) => {
    const config = loadConfig(definitions.get(definition), definition)
    checkConfig(config)
    return addTo(config, { ...attachment, definition })
  }
  for (const { metadata, spec } of clusters) {
    const annotation = spec.template.metadata.annotations?.[MULTUS_NETWORKS]
    const selections = annotation === undefined ? [] : parseSelections(annotation, metadata.namespace ?? '')
    const routes = selections.map(({ namespace, name, mac, ips, interface: device = '' }) => {
      const has = attach(`${namespace}/${name}`, { interface: device, mac, ips })
      expect(has).toMatchObject({ ips: (ips ?? []).map((ip) => ip.split('/')[0]), mac })
      return has.routes
    })
    const cluster = containerClusters.find(({ name }) => name === metadata.name)
    if (driver === 'bridge' && cluster !== undefined) checkRoutes(asked, cluster, routes)
  }
  for (const { metadata, spec } of machines)
    for (const { network } of (spec.interfaces ?? []).filter((nic) => !isOnPodNetwork(nic))) {
      const launcher = { interface: 'pod0123456789a', mac: '02:00:00:00:00:01', ips: undefined }
      expect(attach(`${metadata.namespace}/${network}`, launcher)).toEqual({ ips: [], mac: launcher.mac, routes: [] })
    }
}

const HALVES = ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1']

function hasHostPort({ containers }: WorkspaceContainerCluster): boolean {
  return containers.some(({ portMappings = [] }) => portMappings.some(({ hostPort }) => hostPort !== undefined))
}

/**
 * Returns all routes of a network that a pod can use on an interface, also where other pods cannot: the first to each destination, without default routes.
 * Derived from the spec, not from the rendering.
 */
function expectedRoutes(
  networks: readonly WorkspaceNetwork[],
  { network, ...nic }: NonNullable<WorkspaceContainerCluster['interfaces']>[number],
): string[] {
  const { routes = [] } = networks.find(({ name }) => name === network) ?? {}
  const usable = new Map<string, string>()
  for (const { destinationNetworkCidr: to, nextHopIpAddress: hop } of routes) {
    const destination = networkAt(to)
    const isUsable = !destination.endsWith('/0') && areNeighbours(hop, staticAddresses(nic))
    if (isUsable && !usable.has(destination)) usable.set(destination, `${destination} via ${hop}`)
  }
  return [...usable.values()]
}

/** @param found the routes of each interface of its pod */
function checkRoutes(
  networks: readonly WorkspaceNetwork[],
  cluster: WorkspaceContainerCluster,
  found: readonly (readonly string[])[],
): void {
  expect(halvesIn(found.flat())).toEqual(expectedHalves(networks, cluster))
  for (const [at, nic] of (cluster.interfaces ?? []).entries()) {
    const wanted = expectedRoutes(networks, nic)
    const others = (found[at] ?? []).filter((route) => !HALVES.some((half) => route.startsWith(`${half} via `)))
    // With a hostPort it has routes to other networks, too.
    if (hasHostPort(cluster)) expect(others).toEqual(expect.arrayContaining(wanted))
    else expect(others).toEqual(wanted)
  }
}

/** Returns the next hops of routes that no default route of the pod network beats, those of IPv4 first. */
function halvesIn(routes: readonly string[]): string[] {
  return HALVES.flatMap((half) => routes.filter((route) => route.startsWith(`${half} via `)))
}

/** Returns what the pod must have instead of the first default route of each family that it can use. Derived from the spec, not from the rendering. */
function expectedHalves(networks: readonly WorkspaceNetwork[], cluster: WorkspaceContainerCluster): string[] {
  if (hasHostPort(cluster)) return []
  const { interfaces = [] } = cluster
  const hops = interfaces.flatMap(({ network, ...nic }) => {
    const { routes = [], rangeGateway } = networks.find(({ name }) => name === network) ?? {}
    const defaults = routes
      .filter((one) => one.destinationNetworkCidr.endsWith('/0'))
      .map((one) => one.nextHopIpAddress)
    const isOf = (v6: boolean) => (hop: string) => hop.includes(':') === v6
    return [false, true].flatMap((v6) => {
      const declared = defaults.filter(isOf(v6))
      const all = declared.length > 0 || rangeGateway === undefined ? declared : [rangeGateway].filter(isOf(v6))
      return all.filter((hop) => areNeighbours(hop, staticAddresses(nic))).slice(0, 1)
    })
  })
  const four = hops.find((hop) => !hop.includes(':'))
  const six = hops.find((hop) => hop.includes(':'))
  return [
    ...(four === undefined ? [] : [`0.0.0.0/1 via ${four}`, `128.0.0.0/1 via ${four}`]),
    ...(six === undefined ? [] : [`::/1 via ${six}`, `8000::/1 via ${six}`]),
  ]
}

function checkMacs({ clusters }: RenderedWorkspace): void {
  const macs = clusters.flatMap((deployment) => networksOf(deployment).map(({ mac }) => mac))
  expect(new Set(macs).size).toBe(macs.length)
}

export function networksOf({ spec: { template } }: RenderedWorkspace['clusters'][number]): PodNetwork[] {
  return JSON.parse(template.metadata.annotations?.[MULTUS_NETWORKS] ?? '[]') as PodNetwork[]
}
