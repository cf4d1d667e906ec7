import { ipText, type NetworkDriver, type PodNetwork, parseIp } from '@open-terrain/constructs/operator'
import { removalOf } from '../../../runtime/plan.ts'
import type { AttachedNetwork, ContainerPodView } from '../child-views.ts'
import type { WorkspaceWorld } from '../world.ts'
import { componentFailed, componentWaiting } from './component.ts'
import type { Judgement } from './component-kind.ts'
import { createdAt, isNewSince, PATIENCE_MS, patienceMs, troubledSince } from './patience.ts'

/** Reason of a cluster whose pod runs without the interfaces that it has to have. */
const NETWORKS_MISSING = 'NetworksMissing'
/** When to look again at what was written just now. */
const SOON_MS = 1_000

/**
 * Returns what to say and do about a pod that runs without its networks, as happens if Multus was not in the CNI configuration of its node when it was
 * started. Nothing connects it later, so it is replaced. Multus reports the interfaces before any container starts: there is no need to wait for that.
 */
export function judgeNetworks(
  world: WorkspaceWorld,
  { cluster, networks, pod }: { cluster: string; networks: readonly PodNetwork[]; pod: ContainerPodView },
  now: number,
): Judgement | undefined {
  if (pod.phase !== 'Running') return undefined
  const trouble = networkTrouble(networks, pod, world.policy.networkDriver)
  if (trouble === undefined) return undefined
  const { name, namespace = '' } = pod.metadata
  const since = troubledSince(world, now)
  const isReplaced = isWorthReplacing(world, pod, since)
  const next = isReplaced ? 'it is replaced' : `when that is mended: kubectl delete pod -n ${namespace} ${name}`
  const message = `pod ${name} runs without its networks: ${trouble}; ${next}`
  const patience = patienceMs(pod, since)
  const isLasting = isReplaced && patience >= PATIENCE_MS.longest
  const summary = isLasting
    ? componentFailed('ContainersFailed', message)
    : componentWaiting('ContainersFailed', message)
  const told = { summary: { ...summary, reason: NETWORKS_MISSING } }
  const leftMs = createdAt(pod, now) + patience - now
  if (!isReplaced) return told
  if (leftMs > 0)
    return { ...told, requeue: { afterMs: leftMs, because: 'a pod without its networks is then replaced' } }
  if (isTold(world, cluster)) return { ...told, remove: removalOf(pod) }
  return { ...told, requeue: { afterMs: SOON_MS, because: 'people are told by then' } }
}

/**
 * Reports whether another pod can be expected to have the networks. If nothing has ever been reported about any pod, the cluster may attach networks without
 * a report. What runs in a workspace that was ready then stays.
 */
function isWorthReplacing({ areNetworksReported }: WorkspaceWorld, pod: ContainerPodView, since: number): boolean {
  return pod.attached !== undefined || areNetworksReported || isNewSince(pod, since)
}

/** What people see changes before anything is deleted. */
function isTold({ workspace }: WorkspaceWorld, cluster: string): boolean {
  const { components = [] } = workspace.status
  return components.some(({ name, reason }) => name === cluster && reason === NETWORKS_MISSING)
}

/** Returns how the interfaces of a pod whose containers run differ from those that it has to have, in words for people. */
export function networkTrouble(
  wanted: readonly PodNetwork[],
  pod: Pick<ContainerPodView, 'attached' | 'podIps'>,
  driver: NetworkDriver,
): string | undefined {
  const [first] = wanted
  if (first === undefined) return undefined
  if (pod.attached === undefined)
    return `it has no interface ${first.interface}, as Multus has reported nothing: see whether Multus is in the CNI configuration of its node`
  if (isOfEarlierStart(pod))
    return `it was started again without its interfaces, as Multus has reported nothing since: see whether Multus is in the CNI configuration of its node`
  for (const one of wanted) {
    const found = pod.attached.find((each) => each.interface === one.interface)
    const difference = found === undefined ? 'does not exist' : differenceOf(one, found, driver)
    if (difference !== undefined)
      return `its interface ${one.interface} of network ${one.name} ${difference}: see the Events of the pod and the log of Multus on its node`
  }
  return undefined
}

/**
 * Reports whether what Multus has reported is older than the sandbox of the containers. A node that restarts makes a new sandbox for the same pod, with
 * another address on the network that every pod is on. Without Multus, the report about the old one stays.
 */
function isOfEarlierStart({ attached = [], podIps }: Pick<ContainerPodView, 'attached' | 'podIps'>): boolean {
  const reported = attached.filter(({ isDefault }) => isDefault).flatMap(({ ips }) => ips.map(canonical))
  return reported.length > 0 && podIps.length > 0 && !podIps.some((ip) => reported.includes(canonical(ip)))
}

function differenceOf(wanted: PodNetwork, found: AttachedNetwork, driver: NetworkDriver): string | undefined {
  const definition = `${wanted.namespace}/${wanted.name}`
  // Old versions of Multus report the name of the CNI configuration.
  if (found.name.includes('/') && found.name !== definition) return `is of ${found.name} instead`
  // An overlay without IP address management reports none.
  const isTold = driver === 'bridge' || found.ips.length > 0
  const ips = new Set(found.ips.map(canonical))
  const missing = (wanted.ips ?? []).map((ip) => canonical(ip.replace(/\/.*$/, ''))).find((ip) => !ips.has(ip))
  if (isTold && missing !== undefined) return `has ${[...ips].join(', ') || 'no address'} instead of ${missing}`
  const mac = found.mac.toLowerCase()
  return mac === '' || mac === wanted.mac ? undefined : `has the MAC address ${mac} instead of ${wanted.mac}`
}

function canonical(address: string): string {
  const parsed = parseIp(address)
  return parsed === undefined ? address : ipText(parsed)
}
