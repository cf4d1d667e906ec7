import type { CelRule } from '../schema/cel.ts'
import { searchRule } from '../schema/cel-search.ts'
import { networkOf, parseCidr, prefixText } from './ip-address.ts'
import { celExists, optionalLoop, type WorkspaceParts } from './workspace-parts.ts'

/** The two lists whose items have interfaces. */
const OWNERS = [
  { field: 'vms', who: 'machine' },
  { field: 'containerClusters', who: 'container cluster' },
] as const

type Owners = (typeof OWNERS)[number]

/** Loops over every interface. The sentence begins with the owner of the interface. */
const nicLoops = ({ field, who }: Owners, says: string) => [
  optionalLoop('owner', `self.${field}`, `${who} "{owner.name}" `),
  optionalLoop('nic', 'owner.interfaces', says),
]

/** Returns every interface with its owner, in the order of those loops. */
function nicsOf(spec: WorkspaceParts, { field }: Owners) {
  return (spec[field] ?? []).flatMap((owner) => (owner.interfaces ?? []).map((nic) => ({ ...nic, owner: owner.name })))
}

const networkExists = (owners: Owners): CelRule<WorkspaceParts> =>
  searchRule({
    message: `every interface of a ${owners.who} must name one of spec.networks`,
    field: owners.field,
    among: nicLoops(
      owners,
      'has an interface on network "{nic.network}", which is not in spec.networks: add it there, or name one that is',
    ),
    isWrong: `!${celExists('net', 'self.networks', 'net.name == nic.network')}`,
    find: (spec) => {
      const names = new Set(spec.networks?.map(({ name }) => name))
      const nic = nicsOf(spec, owners).find(({ network }) => !names.has(network))
      return nic && [nic.owner, nic.network]
    },
  })

const addressInNetwork = (owners: Owners): CelRule<WorkspaceParts> =>
  searchRule({
    message: `every address of a ${owners.who} must be in the cidr of its network, with its length`,
    field: owners.field,
    among: [
      ...nicLoops(owners, 'has the address {nic.ipAddress} on network "{nic.network}", '),
      { item: 'home', list: "[isCIDR(nic.ipAddress) ? string(cidr(nic.ipAddress).masked()) : '']" },
      optionalLoop(
        'net',
        'self.networks',
        'which is {net.cidr}: take an address of that network, with the same length',
      ),
    ],
    isWrong: "net.name == nic.network && net.cidr != home && home != ''",
    find: (spec) => {
      for (const { owner, network, ipAddress } of nicsOf(spec, owners)) {
        const address = parseCidr(ipAddress)
        const home = address && prefixText(networkOf(address))
        const net = spec.networks?.find(({ name, cidr }) => name === network && cidr !== home)
        if (home !== undefined && net !== undefined) return [owner, ipAddress, network, net.cidr]
      }
      return undefined
    },
  })

/** CEL: a list whose only item is the list of the addresses that items of the field have on the network `net`. */
const membersOf = (field: string) =>
  `[has(self.${field}) ? self.${field}.map(owner, has(owner.interfaces), ` +
  'owner.interfaces.map(nic, nic.network == net.name, nic.ipAddress)).flatten() : []]'

const ANOTHER = ' more than once: give each machine and container cluster on it another one'
const repeated = (list: string) => `${list}.filter(one, !${list}.exists_one(other, other == one))`

/** Two rules, because the API server aborts a single rule that costs as much as both may cost. */
const addressesUnique: readonly CelRule<WorkspaceParts>[] = [
  searchRule({
    message: 'no two machines may have the same address in a network',
    field: 'networks',
    among: [
      optionalLoop('net', 'self.networks', 'network "{net.name}" has the address '),
      { item: 'vms', list: membersOf('vms'), says: `{${repeated('vms')}[0]}${ANOTHER}` },
    ],
    isWrong: 'vms.size() != vms.distinct().size()',
    find: (spec) => findOn(spec, ({ vms }) => vms.find((one) => isRepeated(one, vms))),
  }),
  searchRule({
    message: 'no container cluster may have the same address as another one, or as a machine, in a network',
    field: 'networks',
    among: [
      optionalLoop('net', 'self.networks', 'network "{net.name}" has the address '),
      { item: 'vms', list: membersOf('vms') },
      {
        item: 'clusters',
        list: membersOf('containerClusters'),
        // An item of an outer loop may be used here: it is not a path, so its length is not misjudged.
        says: `{(clusters.filter(one, one in vms) + ${repeated('clusters')})[0]}${ANOTHER}`,
      },
    ],
    isWrong: 'clusters.exists(one, one in vms) || clusters.size() != clusters.distinct().size()',
    find: (spec) =>
      findOn(spec, ({ vms, clusters }) => {
        const shared = clusters.find((one) => vms.includes(one))
        return shared ?? clusters.find((one) => isRepeated(one, clusters))
      }),
  }),
]

interface Members {
  readonly vms: readonly string[]
  readonly clusters: readonly string[]
}

/** Returns the first network on which `look` finds an address, and that address. */
function findOn(spec: WorkspaceParts, look: (members: Members) => string | undefined): string[] | undefined {
  const [vms, clusters] = OWNERS.map((owners) => Map.groupBy(nicsOf(spec, owners), ({ network }) => network))
  const on = (nics: typeof vms, name: string) => (nics?.get(name) ?? []).map(({ ipAddress }) => ipAddress)
  for (const { name } of spec.networks ?? []) {
    const address = look({ vms: on(vms, name), clusters: on(clusters, name) })
    if (address !== undefined) return [name, address]
  }
  return undefined
}

function isRepeated(one: string, list: readonly string[]): boolean {
  return list.indexOf(one) !== list.lastIndexOf(one)
}

export const addressRules: readonly CelRule<WorkspaceParts>[] = [
  ...OWNERS.flatMap((owners) => [networkExists(owners), addressInNetwork(owners)]),
  ...addressesUnique,
]
