import type { Workspace } from '../../harness/kinds.ts'
import type { PolicyData } from '../objects.ts'

type Vm = NonNullable<Workspace['spec']['vms']>[number]
type Cluster = NonNullable<Workspace['spec']['containerClusters']>[number]
type Service = NonNullable<Workspace['spec']['services']>[number]

/** Capabilities that labs of schedules ask for, and that the policy allows. */
const CAPABILITIES = ['NET_BIND_SERVICE']

/** What the platform refuses of labs, as its policy says, whose values are valid. Derived from the design. */
export class Permits {
  readonly #data: PolicyData

  constructor(data: PolicyData) {
    this.#data = data
  }

  /** What some policy refuses. */
  static readonly STRICTEST = new Permits({
    allowHostPorts: 'false',
    allowedDevices: '',
    allowPrivileged: 'false',
    allowedOverrides: '',
    allowInternetAccess: 'false',
    allowedServiceTypes: 'ClusterIP',
  })

  refusesVm({ overrides }: Vm): boolean {
    return this.#refusesOverrides('vm', overrides)
  }

  refusesCluster(cluster: Cluster): boolean {
    const { containers, overrides } = cluster
    return (
      this.refusesRights(cluster) ||
      this.#refusesOverrides('pod', overrides) ||
      containers.some(({ devices = [] }) => devices.some((one) => !this.#list('allowedDevices').includes(one)))
    )
  }

  /** Reports whether its containers ask for rights on their node that no pod may have. */
  refusesRights({ containers, initContainers = [] }: Cluster): boolean {
    const all = [...containers, ...initContainers]
    return (
      (this.#data['allowPrivileged'] !== 'true' && all.some(({ privileged }) => privileged === true)) ||
      (this.#data['allowHostPorts'] === 'false' && hasHostPort({ containers })) ||
      all.some(({ capabilities }) => capabilities?.add?.some((one) => !CAPABILITIES.includes(one)) === true)
    )
  }

  refusesService({ type = 'ClusterIP' }: Service): boolean {
    return !this.#list('allowedServiceTypes', 'ClusterIP').includes(type)
  }

  refusesInternet({ internetAccess }: Workspace['spec']): boolean {
    return internetAccess === 'Enabled' && this.#data['allowInternetAccess'] !== 'true'
  }

  #refusesOverrides(root: 'vm' | 'pod', overrides: unknown): boolean {
    const allowed = this.#list('allowedOverrides')
    return pathsIn((overrides ?? {}) as object, root).some(
      (path) => !allowed.some((entry) => path === entry || path.startsWith(`${entry}.`)) || isNever(path),
    )
  }

  #list(key: string, value = ''): readonly string[] {
    return (this.#data[key] ?? value).split(',')
  }
}

export function hasHostPort({ containers }: Pick<Cluster, 'containers'>): boolean {
  return containers.some(({ portMappings = [] }) => portMappings.some(({ hostPort }) => hostPort !== undefined))
}

/** Leaves the guest or the pod, whatever a policy says. */
function isNever(path: string): boolean {
  return path.endsWith('.gpus') || path.endsWith('.hostNetwork')
}

/** Returns the paths of the values, as the policy names them. A list is one value. */
function pathsIn(value: object, at: string): string[] {
  return Object.entries(value).flatMap(([key, one]) => {
    const path = at.includes(':') ? `${at}.${key}` : `${at}:${key}`
    return typeof one === 'object' && one !== null && !Array.isArray(one) ? pathsIn(one, path) : [path]
  })
}
