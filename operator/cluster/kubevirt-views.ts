import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject, Raw } from '../kube/kube-object.ts'
import { fromTime, withoutUndefined } from '../runtime/conditions.ts'
import { upTo } from '../runtime/foreign.ts'
import { keptMetadata, type Matters } from './kept-metadata.ts'

/** KubeVirt's VirtualMachine. Of its spec only the fields that the operator sets, because KubeVirt adds others. */
export interface KubeVirtView extends KubeObject {
  readonly spec: unknown
  readonly printableStatus: string
  readonly runStrategy: string
  /** Whether a start was requested from KubeVirt and is still pending. */
  readonly isStartAsked: boolean
  readonly isReady: boolean
  /** Why its condition Ready is False; empty if it is not. */
  readonly unready: string
  /** Text of the first condition that reports a problem; empty if none does. */
  readonly trouble: string
  /** Why its instance could not be created; empty if none was refused. Other KubeVirt failures concern a guest that keeps running. */
  readonly failure: string
  /** Its condition `Paused`, which may be left over from an instance that is gone. */
  readonly pause: PauseFacts | undefined
  /** Why its pod was refused; empty if it was not. */
  readonly refusedPod: string
  /** Since when its instance or pod is refused, in ms; undefined if neither is, or KubeVirt reports no time. */
  readonly refusedSince: number | undefined
  /** When KubeVirt retries a failed start, in ms; undefined if no start failed. */
  readonly retryAt: number | undefined
  /** Firmware UUID by which the guest identifies itself. */
  readonly firmwareUuid: string | undefined
  /** Why a change of its spec waits for a restart; empty if no change waits. */
  readonly restartRequired: string
}

/** Facts about a guest whose CPUs are paused. */
export interface PauseFacts {
  readonly reason: string
  readonly message: string
  /** Start of the pause, in ms; undefined if KubeVirt reports no time. */
  readonly since: number | undefined
}

/** KubeVirt's VirtualMachineInstance: one run of a machine. */
export interface InstanceView extends KubeObject {
  readonly phase: string
  readonly isReady: boolean
  /** Since when it runs without being ready, in ms; undefined if it is ready or does not run. */
  readonly unreadySince: number | undefined
  /** Why it is not ready: the reason of its condition Ready; empty if it is ready or there is no reason. */
  readonly unreadyReason: string
  readonly hasAgent: boolean
  readonly isPaused: boolean
  readonly nodeName: string | undefined
  readonly addresses: readonly string[]
}

export function viewKubeVirt(object: KubeObject): KubeVirtView {
  const raw: Raw = object
  const conditions: Raw[] = raw.status?.conditions ?? []
  const text = (type: string, status: string): string => {
    const found = conditionIn(conditions, type, status)
    return found === undefined ? '' : String(found.message || found.reason || type)
  }
  const refusals = conditions.filter(({ reason }) => reason === 'FailedCreate')
  const refused = conditionIn(refusals, 'Failure', 'True')
  const refusedPod = conditionIn(refusals, 'Synchronized', 'False')
  const failed = text('Failure', 'True')
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: keptMetadata(object.metadata, KUBEVIRT),
    spec: ownedSpec(raw.spec),
    printableStatus: upTo(64, raw.status?.printableStatus),
    runStrategy: raw.spec?.runStrategy ?? '',
    isStartAsked: (raw.status?.stateChangeRequests ?? []).some(({ action }: Raw) => action === 'Start'),
    isReady: conditionIn(conditions, 'Ready', 'True') !== undefined,
    unready: text('Ready', 'False'),
    trouble: failed || text('Synchronized', 'False') || text('PodScheduled', 'False'),
    failure: refused === undefined ? '' : failed,
    pause: pauseIn(conditions),
    refusedPod: refusedPod === undefined ? '' : text('Synchronized', 'False'),
    refusedSince: fromTime((refused ?? refusedPod)?.lastTransitionTime),
    retryAt: fromTime(raw.status?.startFailure?.retryAfterTimestamp),
    firmwareUuid: raw.spec?.template?.spec?.domain?.firmware?.uuid,
    restartRequired:
      text('RestartRequired', 'True') || (IS_ON.has(raw.status?.printableStatus) ? stuckChange(conditions) : ''),
  }
}

/** Labels of the template, which the instance and its pod have, too. */
const TEMPLATE_LABELS = [
  LABELS.vmUid,
  LABELS.vmName,
  LABELS.workspace,
  LABELS.nodeGroup,
  LABELS.baseVm,
  LABELS.baseVmVersion,
  LABELS.version,
]

const KUBEVIRT: Matters = {
  labels: [...TEMPLATE_LABELS, LABELS.managedBy],
  annotations: [ANNOTATIONS.cloudInit, ANNOTATIONS.retriedAt],
}
const INSTANCE: Matters = { labels: [LABELS.vmUid], annotations: [ANNOTATIONS.retriedAt] }

/** States in which a guest is powered on. Conditions can outlive the instance that they describe. */
export const IS_ON: ReadonlySet<string | undefined> = new Set(['Running', 'Paused', 'Migrating'])

/** Reasons of failures to apply a change while the guest runs. */
const LIVE_CHANGE = /^(HotPlug|FailedUpdate).*Error$|ChangeError$/

/**
 * Describes a change that needs a restart although no condition reports that. KubeVirt adds CPUs only by live migration. A machine that cannot
 * migrate waits without reporting it, and KubeVirt refuses any other number of CPUs meanwhile.
 */
function stuckChange(conditions: readonly Raw[]): string {
  const failure = conditionIn(conditions, 'Failure', 'True')
  if (LIVE_CHANGE.test(failure?.reason)) return `KubeVirt cannot change the guest while it runs: ${failure.message}`
  const isStuck = conditionIn(conditions, 'HotVCPUChange', 'True') && conditionIn(conditions, 'LiveMigratable', 'False')
  return isStuck ? 'the machine cannot migrate, so it gets its CPUs when it restarts' : ''
}

function conditionIn(conditions: readonly Raw[], type: string, status: string): Raw {
  return conditions.find((one) => one.type === type && one.status === status)
}

function pauseIn(conditions: readonly Raw[]): PauseFacts | undefined {
  const found = conditionIn(conditions, 'Paused', 'True')
  if (found === undefined) return undefined
  const { reason = '', message = '', lastTransitionTime } = found
  return { reason, message, since: fromTime(lastTransitionTime) }
}

export function viewInstance(object: KubeObject): InstanceView {
  const raw: Raw = object
  const interfaces: Raw[] = raw.status?.interfaces ?? []
  const conditions: Raw[] = raw.status?.conditions ?? []
  const addresses = interfaces.flatMap((one) => (one.ipAddresses ?? [one.ipAddress]).filter(Boolean))
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: keptMetadata(object.metadata, INSTANCE),
    phase: raw.status?.phase ?? '',
    isReady: conditionIn(conditions, 'Ready', 'True') !== undefined,
    unreadySince: unreadySince(raw),
    unreadyReason: conditions.find(({ type, status }) => type === 'Ready' && status !== 'True')?.reason ?? '',
    hasAgent: conditionIn(conditions, 'AgentConnected', 'True') !== undefined,
    isPaused: pauseIn(conditions) !== undefined,
    nodeName: upTo(253, raw.status?.nodeName) || undefined,
    // The guest can report anything. A status that exceeds the limits of the schema would not be written at all.
    addresses: addresses
      .map(String)
      .filter((address) => address.length <= 64)
      .slice(0, 64),
  }
}

/** Returns the later of its start and the time when it stopped being ready. */
function unreadySince({ metadata, status }: Raw): number | undefined {
  const ready = (status?.conditions ?? []).find((one: Raw) => one.type === 'Ready')
  if (status?.phase !== 'Running' || ready?.status === 'True') return undefined
  const started = (status.phaseTransitionTimestamps ?? []).filter((one: Raw) => one.phase === 'Running')
  const times = [ready?.lastTransitionTime, started.at(-1)?.phaseTransitionTimestamp, metadata?.creationTimestamp]
  return Math.max(...times.map((time) => fromTime(time) ?? 0))
}

/** The members that we render; what KubeVirt fills in (architecture, machine type, firmware) is its own. */
function ownedSpec(spec: Raw): unknown {
  const { hostname, terminationGracePeriodSeconds, affinity, networks, volumes, domain } = spec?.template?.spec ?? {}
  const { cpu, memory, resources, devices, firmware } = domain ?? {}
  const { autoattachPodInterface, rng, disks, interfaces } = devices ?? {}
  const request = resources?.requests?.cpu
  const labels: Record<string, string> = spec?.template?.metadata?.labels ?? {}
  const ours = TEMPLATE_LABELS.filter((label) => labels[label] !== undefined)
  return withoutUndefined({
    runStrategy: spec?.runStrategy,
    template: {
      metadata: { labels: Object.fromEntries(ours.map((label) => [label, labels[label]])) },
      spec: withoutUndefined({
        hostname,
        terminationGracePeriodSeconds,
        affinity,
        domain: withoutUndefined({
          cpu: withoutUndefined({ sockets: cpu?.sockets, cores: cpu?.cores, threads: cpu?.threads }),
          firmware: firmware?.uuid === undefined ? undefined : { uuid: firmware.uuid },
          memory: withoutUndefined({ guest: memory?.guest }),
          resources: request === undefined ? undefined : { requests: { cpu: request } },
          devices: withoutUndefined({ autoattachPodInterface, rng, disks, interfaces }),
        }),
        networks,
        volumes,
      }),
    },
  })
}
