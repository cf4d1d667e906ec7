import type { CelRule } from '../schema/cel.ts'
import { searchRule } from '../schema/cel-search.ts'
import { celHasAddress, isOnPodNetwork, POD_NETWORK_NAME } from './interface-words.ts'
import { repeatedIn } from './repeated-texts.ts'
import { addressRules } from './workspace-address-rules.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import { optionalLoop, textsLoop, type WorkspaceParts } from './workspace-parts.ts'

const namesUnique = searchRule<WorkspaceParts>({
  message: 'no container cluster may have the name of a machine',
  field: 'containerClusters',
  among: [
    textsLoop('machines', 'self.vms', 'each.name'),
    optionalLoop(
      'cluster',
      'self.containerClusters',
      'container cluster "{cluster.name}" has the name of a machine: both would have the same host name, so call one of them otherwise',
    ),
  ],
  isWrong: 'cluster.name in machines',
  finds: ({ vms = [], containerClusters = [] }) => {
    const machines = new Set(vms.map(({ name }) => name))
    return containerClusters.flatMap(({ name }, at) =>
      machines.has(name) ? [{ at: ['containerClusters', at, 'name'], values: [name] }] : [],
    )
  },
})

/** One rule for each list of containers: the API server takes no list of two types. */
const volumesExist = (['containers', 'initContainers'] as const).map((list) =>
  searchRule<WorkspaceParts>({
    message: 'every volume mount must name one of spec.volumes, or ansible',
    field: 'containerClusters',
    among: [
      textsLoop('names', 'self.volumes', 'each.name'),
      optionalLoop('cluster', 'self.containerClusters', 'container cluster "{cluster.name}" '),
      { item: 'container', list: `cluster.${list}`, isOptional: list === 'initContainers' },
      optionalLoop(
        'mount',
        'container.volumeMounts',
        'mounts volume "{mount.name}" at {mount.containerPath}, which is not in spec.volumes: add it there, or name one that is, or ansible',
      ),
    ],
    isWrong: "mount.name != 'ansible' && !(mount.name in names)",
    finds: ({ containerClusters = [], volumes = [] }) => {
      const names = new Set(['ansible', ...volumes.map(({ name }) => name)])
      return containerClusters.flatMap((cluster, nth) =>
        (cluster[list] ?? []).flatMap(({ volumeMounts = [] }, of) =>
          volumeMounts.flatMap(({ name, containerPath }, at) =>
            names.has(name)
              ? []
              : [
                  {
                    at: ['containerClusters', nth, list, of, 'volumeMounts', at, 'name'],
                    values: [cluster.name, name, containerPath],
                  },
                ],
          ),
        ),
      )
    },
  }),
)

const diskVolumesExist = searchRule<WorkspaceParts>({
  message: 'every disk of a machine with a volume must name one of spec.volumes',
  field: 'vms',
  among: [
    textsLoop('names', 'self.volumes', 'each.name'),
    optionalLoop('vm', 'self.vms', 'machine "{vm.name}" '),
    optionalLoop(
      'disk',
      'vm.disks',
      'has disk "{disk.name}" with volume "{disk.volume}", which is not in spec.volumes: add it there, or name one that is',
    ),
  ],
  isWrong: 'has(disk.volume) && !(disk.volume in names)',
  finds: ({ vms = [], volumes = [] }) => {
    const names = new Set(volumes.map(({ name }) => name))
    return vms.flatMap(({ name: vm, disks = [] }, nth) =>
      disks.flatMap(({ name, volume }, at) =>
        volume === undefined || names.has(volume)
          ? []
          : [{ at: ['vms', nth, 'disks', at, 'volume'], values: [vm, name, volume] }],
      ),
    )
  },
})

/** Maximum number of host ports of one workspace. */
const HOST_PORTS_MAX = 256

/** CEL: all host ports, each with its protocol as a string. */
const HOST_PORTS = {
  item: 'ports',
  list:
    '[has(self.containerClusters) ? self.containerClusters.map(cluster, cluster.containers.map(container, has(container.portMappings), ' +
    "container.portMappings.map(port, has(port.hostPort), '%d/%s'.format([port.hostPort, has(port.protocol) ? port.protocol : 'tcp']))" +
    ').flatten()).flatten() : []]',
} as const

function hostPortsOf({ containerClusters = [] }: WorkspaceParts): string[] {
  return containerClusters
    .flatMap(({ containers }) => containers.flatMap(({ portMappings = [] }) => portMappings))
    .flatMap(({ hostPort, protocol = 'tcp' }) => (hostPort === undefined ? [] : `${hostPort}/${protocol}`))
}

const hostPortsBounded = searchRule<WorkspaceParts>({
  message: `the containers must have at most ${HOST_PORTS_MAX} hostPorts together`,
  field: 'containerClusters',
  among: [
    {
      ...HOST_PORTS,
      says: `the containers must have at most ${HOST_PORTS_MAX} hostPorts together: they have {string(ports.size())}`,
    },
  ],
  isWrong: `ports.size() > ${HOST_PORTS_MAX}`,
  finds: (spec) => {
    const { length } = hostPortsOf(spec)
    return length > HOST_PORTS_MAX ? [{ at: ['containerClusters'], values: [String(length)] }] : []
  },
})

const hostPortsUnique = searchRule<WorkspaceParts>({
  message: 'every hostPort must be used once for each protocol',
  field: 'containerClusters',
  among: [
    {
      ...HOST_PORTS,
      says: 'hostPort {ports.filter(one, !ports.exists_one(other, other == one))[0]} is used more than once: give each container another one, since they may meet on a node',
    },
  ],
  isWrong: `ports.size() <= ${HOST_PORTS_MAX} && ports.size() != ports.distinct().size()`,
  finds: (spec) => {
    const ports = hostPortsOf(spec)
    if (ports.length > HOST_PORTS_MAX) return []
    return repeatedIn(ports).map((port) => ({ at: ['containerClusters'], values: [port] }))
  },
})

const userDataBounded: CelRule<WorkspaceParts> = {
  rule: `!has(self.vms) || self.vms.map(vm, has(vm.userData) ? vm.userData.size() : 0).sum() <= ${WORKSPACE_LIMITS.userData}`,
  message: `the machines must have at most ${WORKSPACE_LIMITS.userData} characters of userData together: take that of some from Secrets, with userDataSecretRef`,
  field: 'vms',
  holds: ({ vms = [] }) =>
    vms.reduce((sum, { userData = '' }) => sum + [...userData].length, 0) <= WORKSPACE_LIMITS.userData,
}

const serviceMembersExist = searchRule<WorkspaceParts>({
  message: 'every service must name a machine or a container cluster',
  field: 'services',
  among: [
    textsLoop('machines', 'self.vms', 'each.name'),
    textsLoop('clusters', 'self.containerClusters', 'each.name'),
    optionalLoop(
      'service',
      'self.services',
      'service "{service.name}" is for member "{service.member}", which is neither in spec.vms nor in spec.containerClusters: add it there, or name one that is',
    ),
  ],
  isWrong: '!(service.member in machines || service.member in clusters)',
  finds: ({ vms = [], containerClusters = [], services = [] }) => {
    const names = new Set([...vms, ...containerClusters].map(({ name }) => name))
    return services.flatMap(({ name, member }, at) =>
      names.has(member) ? [] : [{ at: ['services', at, 'member'], values: [name, member] }],
    )
  },
})

const serviceMembersReached = searchRule<WorkspaceParts>({
  message: 'every service for a machine must name one that is on the pod network',
  field: 'services',
  among: [
    textsLoop(
      'away',
      'self.vms',
      'each.name',
      `has(each.interfaces) && each.interfaces.size() > 0 && !each.interfaces.exists(nic, nic.network == '${POD_NETWORK_NAME}' && !${celHasAddress('nic')})`,
    ),
    optionalLoop(
      'service',
      'self.services',
      `service "{service.name}" is for machine "{service.member}", which is not on the pod network: add an interface with network ${POD_NETWORK_NAME} to it`,
    ),
  ],
  isWrong: 'service.member in away',
  finds: ({ vms = [], services = [] }) => {
    const isAway = ({ interfaces = [] }: (typeof vms)[number]) =>
      interfaces.length > 0 && !interfaces.some(isOnPodNetwork)
    const away = new Set(vms.filter(isAway).map(({ name }) => name))
    return services.flatMap(({ name, member }, at) =>
      away.has(member) ? [{ at: ['services', at, 'member'], values: [name, member] }] : [],
    )
  },
})

/** The rules on a workspace beyond those on its single fields. */
export const workspaceRules: readonly CelRule<WorkspaceParts>[] = [
  ...addressRules,
  namesUnique,
  ...volumesExist,
  diskVolumesExist,
  hostPortsBounded,
  hostPortsUnique,
  userDataBounded,
  serviceMembersExist,
  serviceMembersReached,
]
