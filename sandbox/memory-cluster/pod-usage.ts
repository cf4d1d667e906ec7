import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { amountOf } from './resource-amounts.ts'

type Quantities = Readonly<Record<string, string>>

interface Container {
  readonly name: string
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities }
}

interface ResourcePod extends KubeObject {
  readonly spec?: { readonly containers?: readonly Container[]; readonly initContainers?: readonly Container[] }
  readonly status?: { readonly phase?: string }
}

const COMPUTE: readonly string[] = ['cpu', 'memory']

/** Returns what a pod uses of each resource that a quota can limit. A finished pod counts only toward `count/pods`. */
export function podUsage(pod: KubeObject): ReadonlyMap<string, bigint> {
  const amounts = new Map([['count/pods', 1n]])
  if (hasEnded(pod)) return amounts
  amounts.set('pods', 1n)
  for (const container of (pod as ResourcePod).spec?.containers ?? []) {
    for (const [resource, amount] of containerUsage(container))
      amounts.set(resource, (amounts.get(resource) ?? 0n) + amount)
  }
  return amounts
}

/** Returns what containers must specify but do not: if a quota limits CPU or memory, each container must state its requests or limits. */
export function unspecified(pod: KubeObject, limited: readonly string[]): string | undefined {
  const { containers = [], initContainers = [] } = (pod as ResourcePod).spec ?? {}
  const asked = limited.filter((name) => COMPUTE.includes(name.replace(/^(requests|limits)\./, ''))).sort()
  const missing = asked.flatMap((name) => {
    const silent = [...containers, ...initContainers].filter((one) => !containerUsage(one).has(name))
    return silent.length === 0 ? [] : [`${name} for: ${silent.map((one) => one.name).sort()}`]
  })
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`
}

export function hasEnded(object: KubeObject): boolean {
  const { phase } = (object as ResourcePod).status ?? {}
  return phase === 'Succeeded' || phase === 'Failed'
}

/** If there is no request, the API server uses the limit as the request. */
function containerUsage({ resources: { requests = {}, limits = {} } = {} }: Container): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>()
  for (const [name, quantity] of Object.entries({ ...limits, ...requests })) {
    const amount = amountOf(name, quantity)
    if (COMPUTE.includes(name)) amounts.set(name, amount)
    amounts.set(`requests.${name}`, amount)
  }
  for (const [name, quantity] of Object.entries(limits)) amounts.set(`limits.${name}`, amountOf(name, quantity))
  return amounts
}
