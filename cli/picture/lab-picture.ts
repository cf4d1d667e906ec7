import { cidrsOf, isOnPodNetwork, staticAddresses, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import type { LabPicture, PictureLink, PictureMember } from './picture.ts'

type Vm = NonNullable<WorkspaceSpec['vms']>[number]
type ContainerCluster = NonNullable<WorkspaceSpec['containerClusters']>[number]
type Network = NonNullable<WorkspaceSpec['networks']>[number]
type Service = NonNullable<WorkspaceSpec['services']>[number]
type Interface = NonNullable<Vm['interfaces']>[number]

const POD_NETWORK = 'pod network'

/** Returns what a picture of a lab shows. The same spec gives the same picture. */
export function pictureOf(name: string, spec: WorkspaceSpec): LabPicture {
  const { vms = [], containerClusters = [], networks = [], services = [] } = spec
  const owners = ownersOf([...vms, ...containerClusters])
  const indexOf = new Map(networks.map((network, index) => [network.name, index]))
  const pod = networks.length
  const servicesOf = (member: string) => services.filter((service) => service.member === member).map(serviceText)
  const isReached = (cluster: ContainerCluster) => portsOf(cluster).length + servicesOf(cluster.name).length > 0
  const machines = vms.map((vm): PictureMember => {
    const interfaces = vm.interfaces ?? []
    const links = interfaces.map((nic) =>
      isOnPodNetwork(nic)
        ? { network: pod, text: '' }
        : linkOf(indexOf.get(nic.network), nic, networks, addressing(nic)),
    )
    return {
      name: vm.name,
      kind: 'machine',
      notes: [...machineNotes(vm), ...servicesOf(vm.name)],
      links: interfaces.length === 0 ? [{ network: pod, text: '' }] : links.filter(isThere),
    }
  })
  const clusters = containerClusters.map((cluster): PictureMember => {
    const interfaces = cluster.interfaces ?? []
    const links = interfaces.map((nic) => linkOf(indexOf.get(nic.network), nic, networks, 'no address'))
    const isOnPod = interfaces.length === 0 || isReached(cluster)
    return {
      name: cluster.name,
      kind: 'containers',
      notes: [...containerNotes(cluster), ...servicesOf(cluster.name)],
      links: [...links.filter(isThere), ...(isOnPod ? [{ network: pod, text: '' }] : [])],
    }
  })
  const members = [...machines, ...clusters]
  const isPodShown = members.some(({ links }) => links.some(({ network }) => network === pod))
  const podNotes = containerClusters.length > 0 ? ['of Kubernetes', 'all containers are on it'] : ['of Kubernetes']
  return {
    name,
    networks: [
      ...networks.map((network) => ({ name: network.name, notes: networkNotes(network, owners) })),
      ...(isPodShown ? [{ name: POD_NETWORK, notes: podNotes }] : []),
    ],
    members,
  }
}

function isThere(link: PictureLink | undefined): link is PictureLink {
  return link !== undefined
}

/** @param otherwise what is said of an interface without a static address */
function linkOf(
  index: number | undefined,
  nic: { readonly ipAddress?: string | undefined; readonly ipAddresses?: string[] | undefined },
  networks: readonly Network[],
  otherwise: string,
): PictureLink | undefined {
  const network = index === undefined ? undefined : networks[index]
  if (index === undefined || network === undefined) return undefined
  const addresses = staticAddresses(nic).map(withoutLength)
  const isGateway = network.rangeGateway !== undefined && addresses.includes(network.rangeGateway)
  const text = addresses.length === 0 ? otherwise : addresses.join(', ')
  return { network: index, text: isGateway ? `${text} gateway` : text }
}

function addressing({ addressing: how = 'dhcp' }: Interface): string {
  return how === 'dhcp' ? 'DHCP' : 'no address'
}

/** Returns who has which address of the lab. Two networks may have the same addresses: then nobody is named. */
function ownersOf(members: readonly (Vm | ContainerCluster)[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>()
  const shared = new Set<string>()
  for (const { name, interfaces = [] } of members)
    for (const address of interfaces.flatMap((nic) => staticAddresses(nic).map(withoutLength))) {
      if (owners.has(address)) shared.add(address)
      owners.set(address, name)
    }
  for (const address of shared) owners.delete(address)
  return owners
}

function networkNotes(network: Network, owners: ReadonlyMap<string, string>): string[] {
  const { attach, rangeGateway, nameservers, routes = [], mtu } = network
  const who = (address: string) => {
    const owner = owners.get(address)
    return owner === undefined ? address : `${address} ${owner}`
  }
  return [
    ...cidrsOf(network),
    ...(attach === undefined ? [] : [`is ${attach}`]),
    ...(rangeGateway === undefined ? [] : [`gateway ${who(rangeGateway)}`]),
    ...(nameservers?.addresses ?? []).map((address) => `DNS ${who(address)}`),
    ...routes.flatMap((route) => [`to ${route.destinationNetworkCidr}`, `  via ${who(route.nextHopIpAddress)}`]),
    ...(mtu === undefined ? [] : [`MTU ${mtu}`]),
  ]
}

function machineNotes({ backingVMDiskImage, baseVm, resources, ignoreOnDeploy }: Vm): string[] {
  const size = [
    ...(resources?.cpu === undefined ? [] : [`${resources.cpu} CPU`]),
    ...(resources?.memory === undefined ? [] : [`${resources.memory}`]),
  ]
  return [
    ...(ignoreOnDeploy === true ? ['not deployed'] : []),
    ...(backingVMDiskImage === undefined ? [] : [`image ${backingVMDiskImage}`]),
    ...(backingVMDiskImage === undefined && baseVm !== undefined ? [`of ${baseVm}`] : []),
    ...(size.length === 0 ? [] : [size.join(', ')]),
  ]
}

function containerNotes(cluster: ContainerCluster): string[] {
  return [
    ...(cluster.ignoreOnDeploy === true ? ['not deployed'] : []),
    ...cluster.containers.map(({ name, image }) => `${name}: ${shortImage(image)}`),
    ...portsOf(cluster),
  ]
}

function portsOf({ containers }: ContainerCluster): string[] {
  return containers
    .flatMap(({ portMappings = [] }) => portMappings)
    .map(({ containerPort, protocol = 'tcp', hostPort }) => {
      const port = `${containerPort}/${protocol}`
      return hostPort === undefined ? `port ${port}` : `port ${hostPort} of its node, to ${port}`
    })
}

function serviceText({ name, type = 'ClusterIP', ports }: Service): string {
  const texts = ports.map(({ port, targetPort = port, protocol = 'TCP' }) => {
    const target = targetPort === port ? '' : ` to ${targetPort}`
    return `${port}${target}/${protocol.toLowerCase()}`
  })
  const kind = type === 'ClusterIP' ? '' : ` (${type})`
  return `Service ${name}${kind}: ${texts.join(', ')}`
}

/** Returns an image without its registry and path, and with the beginning of its digest. */
function shortImage(image: string): string {
  const last = image.slice(image.lastIndexOf('/') + 1)
  return last.replace(/(@[a-z0-9]+:[0-9a-f]{12})[0-9a-f]+$/, '$1')
}

function withoutLength(address: string): string {
  return address.replace(/\/.*$/s, '')
}
