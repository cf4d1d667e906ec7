import { POD } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'

/** No address of a network is held by two living pods. A pod holds its addresses from its node on, until somebody reports that it has ended. */
export class AddressOracle {
  readonly violations: string[] = []
  /** By `<namespace>/<network> <address>`: names of the pods that hold it, by uid. */
  readonly #holders = new Map<string, Map<string, string>>()
  readonly #report: (message: string) => void

  constructor(report?: (message: string) => void) {
    this.#report = report ?? ((message) => this.violations.push(message))
  }

  onCommit({ type, resource, object }: Commit): void {
    if (resource.kind !== POD.kind) return
    const pod = object as Pod
    const { name, namespace, uid = '' } = pod.metadata
    const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
    const isHolding = type !== 'DELETED' && pod.spec.nodeName !== undefined && !hasEnded
    for (const address of addressesOf(pod)) {
      const holders = this.#holders.get(address) ?? new Map<string, string>()
      this.#holders.set(address, holders)
      const others = [...holders].filter(([other]) => other !== uid).map(([, other]) => other)
      if (isHolding && !holders.has(uid) && others.length > 0)
        this.#report(`pods ${others.join(', ')} and ${name} of ${namespace} have address ${address} at once`)
      if (isHolding) holders.set(uid, name)
      else holders.delete(uid)
    }
  }
}

function addressesOf({ metadata }: Pod): string[] {
  const networks: { name: string; namespace: string; ips?: string[] }[] = JSON.parse(
    metadata.annotations?.[NETWORKS] ?? '[]',
  )
  return networks.flatMap(({ name, namespace, ips = [] }) => ips.map((ip) => `${namespace}/${name} ${ip}`))
}
