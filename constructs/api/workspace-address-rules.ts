import type { CelRule } from '../schema/cel.ts'
import { type Find, searchRule } from '../schema/cel-search.ts'
import { celAddresses, celHasAddress, isOnPodNetwork, POD_NETWORK_NAME, staticAddresses } from './interface-words.ts'
import { networkOf, parseCidr, prefixText } from './ip-address.ts'
import { repeatedIn } from './repeated-texts.ts'
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
  return (spec[field] ?? []).flatMap((owner, nth) =>
    (owner.interfaces ?? []).map((nic, at) => ({
      ...nic,
      owner: owner.name,
      at: [field, nth, 'interfaces', at],
      addresses: staticAddresses(nic),
    })),
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
    finds: (spec) => {
      const names = new Set(spec.networks?.map(({ name }) => name))
      const isElsewhere = owners.isElsewhere === undefined ? () => false : isOnPodNetwork
      return nicsOf(spec, owners)
        .filter((one) => !names.has(one.network) && !isElsewhere(one))
        .map(({ at, owner, network }) => ({ at: [...at, 'network'], values: [owner, network] }))
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
    finds: (spec) => {
      const cidrs = new Map(spec.networks?.map(({ name, cidr }) => [name, cidr]))
      return nicsOf(spec, owners).flatMap((nic) => {
        const { owner, network, addresses } = nic
        const cidr = cidrs.get(network)
        if (cidr === undefined) return []
        return addresses
          .filter((one) => isOutside(one, cidr))
          .map((one) => ({ at: placeOfAddress(nic, one), values: [owner, network, cidr, one] }))
      })
    },
  })

type Nic = ReturnType<typeof nicsOf>[number]

function placeOfAddress({ at, ipAddress, addresses }: Nic, address: string): readonly PropertyKey[] {
  return [...at, ...(ipAddress === undefined ? ['ipAddresses', addresses.indexOf(address)] : ['ipAddress'])]
}

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
    finds: (spec) => sharedOn(spec, ({ vms }) => laterOf(vms)),
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
    finds: (spec) =>
      sharedOn(spec, ({ vms, clusters }) => [
        ...clusters.filter((one) => isHadBefore(one, vms)),
        ...laterOf(clusters.filter((one) => !isHadBefore(one, vms))),
      ]),
  }),
]

/** An address that a member has on a network. */
interface Had {
  readonly address: string
  readonly nic: Nic
}

interface Members {
  readonly vms: readonly Had[]
  readonly clusters: readonly Had[]
}

/** Returns, network by network, the addresses that somebody else had before. */
function sharedOn(spec: WorkspaceParts, look: (members: Members) => readonly Had[]): readonly Find[] {
  const [vms = [], clusters = []] = OWNERS.map((owners) => nicsOf(spec, owners))
  const on = (nics: readonly Nic[], name: string) =>
    nics
      .filter(({ network }) => network === name)
      .flatMap((nic) => nic.addresses.map((address): Had => ({ address, nic })))
  return (spec.networks ?? []).flatMap(({ name }) => {
    const members = { vms: on(vms, name), clusters: on(clusters, name) }
    const all = [...members.vms, ...members.clusters]
    return look(members).map(({ address, nic }): Find => {
      const first = all.find((one) => one.address === address)?.nic.owner
      return {
        at: placeOfAddress(nic, address),
        values: [name, address],
        says: `"${nic.owner}" has the address ${address} on network "${name}", which "${first}" has too: take another one`,
      }
    })
  })
}

/** Returns who has an address that somebody before has, in the order of the addresses. */
function laterOf(all: readonly Had[]): readonly Had[] {
  const repeatedOnes = repeatedIn(all.map(({ address }) => address))
  return repeatedOnes.flatMap((address) => all.filter((one) => one.address === address).slice(1))
}

function isHadBefore({ address }: Had, others: readonly Had[]): boolean {
  return others.some((one) => one.address === address)
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
  finds: (spec) => {
    const nics = OWNERS.flatMap((owners) => nicsOf(spec, owners))
    return repeatedIn(nics.flatMap(({ macAddress }) => macAddress ?? [])).flatMap((mac) => {
      const [first, ...others] = nics.filter(({ macAddress }) => macAddress === mac)
      return others.map(
        ({ at, owner, network }): Find => ({
          at: [...at, 'macAddress'],
          values: [mac],
          says: `MAC address ${mac} of "${owner}" on network "${network}" is given to more than one interface, as to "${first?.owner}" on network "${first?.network}": give it to one alone`,
        }),
      )
    })
  },
})

export const addressRules: readonly CelRule<WorkspaceParts>[] = [
  ...OWNERS.flatMap((owners) => [networkExists(owners), addressInNetwork(owners)]),
  ...addressesUnique,
  macAddressesDiffer,
]
