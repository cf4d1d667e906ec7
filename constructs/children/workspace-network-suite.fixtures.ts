import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkConfig, loadConfig } from '../../sandbox/simulators/multus/cni-config.ts'
import { MULTUS_NETWORKS } from '../../sandbox/simulators/multus/multus.ts'
import { type Attachment, addTo } from '../../sandbox/simulators/multus/plugins.ts'
import { parseSelections } from '../../sandbox/simulators/multus/selection.ts'
import { networkOf, parseCidr, prefixText } from '../api/ip-address.ts'
import { NETWORK_DRIVERS, type NetworkDriver } from '../api/policy.ts'
import type { WorkspaceNetwork } from '../api/workspace.ts'
import { type RandomWorkspace, randomWorkspace } from './random-workspaces.fixtures.ts'
import { type RenderedWorkspace, renderAll } from './rendered-workspace.fixtures.ts'
import { bridgeName, cniNetworkName } from './workspace-names.ts'
import type { PodNetwork } from './workspace-pod-network.ts'

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
const MAC = /^02(:[0-9a-f]{2}){5}$/

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
          for (const deployment of rendered.clusters) checkPod(random, rendered, networksOf(deployment))
          checkMacs(rendered)
          attachAll(rendered)
        }),
        { numRuns: runs },
      )
    },
  )

  it(`are those of one network of one workspace alone, in ${runs} pairs of workspaces at random`, () => {
    fc.assert(
      fc.property(randomWorkspace, randomWorkspace, (one, other) => {
        const pairs = [one, other].flatMap(({ workspace, spec }) =>
          (spec.networks ?? []).map((network) => JSON.stringify([workspace.name, network.name])),
        )
        const distinct = new Set(pairs)
        for (const nameOf of [bridgeName, cniNetworkName]) {
          const names = new Set([...distinct].map((pair) => nameOf(...(JSON.parse(pair) as [string, string]))))
          expect(names.size).toBe(distinct.size)
        }
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
    expect(name).toBe(cniNetworkName(workspace.name, network.name))
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
    interfaces.filter((one) => one.network === network.name).map(({ ipAddress }) => ipAddress),
  )
  const routes = pods?.ipam?.routes ?? []
  for (const { dst, gw } of routes) {
    expect(networkAt(dst)).toBe(dst)
    expect(dst).not.toMatch(/\/0$/)
    for (const ipAddress of own) expect(isNeighbour(gw, ipAddress)).toBe(true)
  }
  expect(new Set(routes.map(({ dst }) => dst)).size).toBe(routes.length)
}

/** Returns the network of an address in CIDR form. */
function networkAt(cidr: string): string {
  const prefix = parseCidr(cidr)
  if (prefix === undefined) throw new Error(`${cidr} is no address in CIDR form`)
  return prefixText(networkOf(prefix))
}

function isNeighbour(hop: string, own: string): boolean {
  const [address = '', length] = own.split('/')
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  const link = new BlockList()
  link.addSubnet(address, Number(length), family)
  return hop !== address && (link.check(hop, family) || hop.startsWith('fe80:'))
}

function checkPod(
  { workspace, spec }: RandomWorkspace,
  rendered: RenderedWorkspace,
  networks: readonly PodNetwork[],
): void {
  const withAddresses = new Map(
    rendered.networks.flat().flatMap(({ metadata, spec: { config } }) => {
      const { type, capabilities } = JSON.parse(config) as CniConfig
      return type === 'bridge' && capabilities?.ips !== true ? [] : [[metadata.name, config]]
    }),
  )
  for (const [at, each] of networks.entries()) {
    expect(withAddresses.has(each.name)).toBe(true)
    expect(each.namespace).toBe(workspace.name)
    expect(each.interface).toBe(`net${at + 1}`)
    expect(each.interface).toMatch(LINK_NAME)
    expect(each.mac).toMatch(MAC)
    for (const ip of each.ips) expect((spec.networks ?? []).map(({ cidr }) => networkAt(cidr))).toContain(networkAt(ip))
    for (const gateway of each['default-route'] ?? [])
      expect(each.ips.some((ip) => isNeighbour(gateway, ip))).toBe(true)
  }
  const gateways = networks.flatMap((each) => each['default-route'] ?? [])
  for (const isV6 of [false, true])
    expect(gateways.filter((one) => one.includes(':') === isV6).length).toBeLessThanOrEqual(1)
}

/** Checks that the plugins of the sandbox accept the networks for pods and for launchers. They report what the real ones report. */
function attachAll({ networks, clusters, machines }: RenderedWorkspace): void {
  const definitions = new Map(
    networks.flat().map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec.config]),
  )
  const attach = (definition: string, attachment: Omit<Attachment, 'definition'>) => {
    const config = loadConfig(definitions.get(definition), definition)
    checkConfig(config)
    return addTo(config, { ...attachment, definition })
  }
  for (const { metadata, spec } of clusters) {
    const annotation = spec.template.metadata.annotations?.[MULTUS_NETWORKS]
    const selections = annotation === undefined ? [] : parseSelections(annotation, metadata.namespace ?? '')
    for (const { namespace, name, mac, ips, interface: device = '' } of selections) {
      const has = attach(`${namespace}/${name}`, { interface: device, mac, ips })
      expect(has).toEqual({ ips: ips?.map((ip) => ip.split('/')[0]), mac })
    }
  }
  for (const { metadata, spec } of machines)
    for (const { network } of spec.interfaces ?? []) {
      const launcher = { interface: 'pod0123456789a', mac: '02:00:00:00:00:01', ips: undefined }
      expect(attach(`${metadata.namespace}/${network}`, launcher)).toEqual({ ips: [], mac: launcher.mac })
    }
}

function checkMacs({ clusters }: RenderedWorkspace): void {
  const macs = clusters.flatMap((deployment) => networksOf(deployment).map(({ mac }) => mac))
  expect(new Set(macs).size).toBe(macs.length)
}

export function networksOf({ spec: { template } }: RenderedWorkspace['clusters'][number]): PodNetwork[] {
  return JSON.parse(template.metadata.annotations?.[MULTUS_NETWORKS] ?? '[]') as PodNetwork[]
}
