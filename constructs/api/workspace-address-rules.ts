import type { CelRule } from '../schema/cel.ts'
import { searchRule } from '../schema/cel-search.ts'
import { celAddresses, celHasAddress, isOnPodNetwork, POD_NETWORK_NAME, staticAddresses } from './interface-words.ts'
import { networkOf, parseCidr, prefixText } from './ip-address.ts'
import { optionalLoop, textsLoop, type WorkspaceParts } from './workspace-parts.ts'

/** The two lists whose items have interfaces. */
const OWNERS = [
  // The CEL says whether an interface is on no network of the workspace.
  { field: 'vms', who: 'machine', isElsewhere: `nic.network == '${POD_NETWORK_NAME}' && !${celHasAddress('nic')}` },
  { field: 'containerClusters', who: 'container cluster', isElsewhere: undefined },
] as const

type Owners = (typeof OWNERS)[number]

/** Loops over every interface. The sentence begins with the owner of the interface. */
const nicLoops = ({ field, who }: Owners, says: string) => [
  optionalLoop('owner', `self.${field}`, `${who} "{owner.name}" `),
  optionalLoop('nic', 'owner.interfaces', says),
]

/** Returns every interface with its owner, in the order of those loops. */
function nicsOf(spec: WorkspaceParts, { field }: Owners) {
  return (spec[field] ?? []).flatMap((owner) =>
    (owner.interfaces ?? []).map((nic) => ({ ...nic, owner: owner.name, addresses: staticAddresses(nic) })),
  )
}

const networkExists = (owners: Owners): CelRule<WorkspaceParts> =>
  searchRule({
    message: `every interface of a ${owners.who} must name one of spec.networks`,
    field: owners.field,
    among: [
      textsLoop('names', 'self.networks', 'each.name'),
      ...nicLoops(
        owners,
        'has an interface on network "{nic.network}", which is not in spec.networks: add it there, or name one that is',
      ),
    ],
    isWrong: `!(nic.network in names)${owners.isElsewhere === undefined ? '' : ` && !(${owners.isElsewhere})`}`,
    find: (spec) => {
      const names = new Set(spec.networks?.map(({ name }) => name))
      const isElsewhere = owners.isElsewhere === undefined ? () => false : isOnPodNetwork
      const nic = nicsOf(spec, owners).find((one) => !names.has(one.network) && !isElsewhere(one))
      return nic && [nic.owner, nic.network]
    },
  })

const addressInNetwork = (owners: Owners): CelRule<WorkspaceParts> =>
  searchRule({
    message: `every address of a ${owners.who} must be in the cidr of its network, with its length`,
    field: owners.field,
    among: [
      textsLoop('names', 'self.networks', 'each.name', 'has(each.cidr)'),
      textsLoop('cidrs', 'self.networks', 'each.cidr', 'has(each.cidr)'),
      // The API server knows how long a text of this list may be, which it does not of one that is taken out by its index.
      textsLoop('homes', 'self.networks', "'%s %s'.format([each.name, each.cidr])", 'has(each.cidr)'),
      ...nicLoops(owners, 'has on network "{nic.network}", which is {cidrs[names.indexOf(nic.network)]}, the address '),
      {
        item: 'address',
        list: celAddresses('nic'),
        says: '{address}: take an address of that network, with the same length',
      },
    ],
    isWrong:
      "nic.network in names && isCIDR(address) && !('%s %s'.format([nic.network, string(cidr(address).masked())]) in homes)",
    find: (spec) => {
      const cidrs = new Map(spec.networks?.map(({ name, cidr }) => [name, cidr]))
      for (const { owner, network, addresses } of nicsOf(spec, owners)) {
        const cidr = cidrs.get(network)
        const address = cidr === undefined ? undefined : addresses.find((one) => isOutside(one, cidr))
        if (cidr !== undefined && address !== undefined) return [owner, network, cidr, address]
      }
      return undefined
    },
  })

/** False if the address cannot be parsed: other rules report that. */
function isOutside(address: string, cidr: string): boolean {
  const prefix = parseCidr(address)
  return prefix !== undefined && prefixText(networkOf(prefix)) !== cidr
}

/** CEL: a list whose only item is the list of the addresses that items of the field have on the network `net`. */
const membersOf = (field: string) =>
  `[has(self.${field}) ? self.${field}.map(owner, has(owner.interfaces), ` +
  `owner.interfaces.map(nic, nic.network == net.name, ${celAddresses('nic')}).flatten()).flatten() : []]`

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
  const [vms = [], clusters = []] = OWNERS.map((owners) => nicsOf(spec, owners))
  const on = (nics: typeof vms, name: string) =>
    nics.filter(({ network }) => network === name).flatMap(({ addresses }) => addresses)
  for (const { name } of spec.networks ?? []) {
    const address = look({ vms: on(vms, name), clusters: on(clusters, name) })
    if (address !== undefined) return [name, address]
  }
  return undefined
}

function isRepeated(one: string, list: readonly string[]): boolean {
  return list.indexOf(one) !== list.lastIndexOf(one)
}

/** CEL: the MAC addresses that the spec gives to items of the field. */
const macAddressesOf = (field: string) =>
  `(has(self.${field}) ? self.${field}.map(owner, has(owner.interfaces), ` +
  'owner.interfaces.map(nic, has(nic.macAddress), nic.macAddress)).flatten() : [])'

const macAddressesDiffer = searchRule<WorkspaceParts>({
  message: 'every MAC address must be given to one interface alone',
  among: [
    {
      item: 'macs',
      list: `[${OWNERS.map(({ field }) => macAddressesOf(field)).join(' + ')}]`,
      says: `MAC address {${repeated('macs')}[0]} is given to more than one interface: give it to one alone`,
    },
  ],
  isWrong: 'macs.size() != macs.distinct().size()',
  find: (spec) => {
    const macs = OWNERS.flatMap((owners) => nicsOf(spec, owners)).flatMap(({ macAddress }) => macAddress ?? [])
    const repeatedOne = macs.find((one) => isRepeated(one, macs))
    return repeatedOne === undefined ? undefined : [repeatedOne]
  },
})

export const addressRules: readonly CelRule<WorkspaceParts>[] = [
  ...OWNERS.flatMap((owners) => [networkExists(owners), addressInNetwork(owners)]),
  ...addressesUnique,
  macAddressesDiffer,
]
