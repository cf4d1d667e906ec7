import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  type GuestMatchers,
  type MachineHardware,
  namesFromSpec,
  OVERRIDE_VALUES_MAX,
  type OverrideStep,
  overridePath,
  overrideSteps,
  type PresentMatchers,
  ROOT_DISK,
  valueAtSteps,
  WINDOWS_FROM_SPEC,
  type WindowsHardware,
  withOverrides,
  withoutValues,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../base/equality.ts'
import { fromTime } from '../../base/time.ts'
import { keptMetadata, type Matters } from '../../cluster/kept-metadata.ts'
import type { KubeObject, Raw } from '../../kube/kube-object.ts'
import { upTo } from '../../runtime/foreign.ts'

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
  /** Without what the operator has overridden, as matchers. */
  readonly hardware: MachineHardware
  readonly matchers: PresentMatchers
  /** What the operator has overridden in its spec; undefined if nothing. */
  readonly overridden?: OverriddenPaths | undefined
  /** Why a change of its spec waits for a restart; empty if no change waits. */
  readonly restartRequired: string
  /** Name of the VirtualMachineRestore that is at work on it; empty if none is. */
  readonly restoreInProgress: string
  /** Name of the VirtualMachineSnapshot that KubeVirt is taking of it; empty if none is. */
  readonly snapshotInProgress: string
  /** The last restore that wrote its spec, as `<name>-<uid>`; empty if none did. */
  readonly lastRestore: string
  /** Name of the claim of its root disk; empty if the root disk is a DataVolume. */
  readonly rootClaim: string
  /** Name of the DataVolume of its root disk; empty if the root disk is a claim. */
  readonly rootDataVolume: string
  /** Why a change of its spec waits for a migration, or a restart; empty if no change waits for that. */
  readonly migrationRequired: string
}

export interface OverriddenPaths {
  /** As `overridePath` writes them. */
  readonly paths: readonly string[]
  /** Paths of the objects above or at them that have something else in them, too. */
  readonly shared: readonly string[]
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
  /** Whether it is ready only while its guest answers a probe. */
  readonly isProbed: boolean
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
  const refusals = conditions.filter(({ reason }) => REFUSALS.has(reason))
  const refused = conditionIn(refusals, 'Failure', 'True')
  const refusedPod = conditionIn(refusals, 'Synchronized', 'False')
  const failed = text('Failure', 'True')
  const overridden = overriddenSteps(object)
  const rest = withoutValues<Raw>(raw.spec, overridden)
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: keptMetadata(object.metadata, KUBEVIRT),
    spec: withOverrides(ownedSpec(raw), valuesAt(raw.spec, overridden)),
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
    hardware: hardwareIn(rest?.template?.spec?.domain),
    overridden: overriddenPaths(overridden, rest),
    matchers: {
      ...matchersIn(raw.spec),
      hasMemory: raw.spec?.template?.spec?.domain?.memory?.guest !== undefined,
      had: object.metadata.annotations?.[ANNOTATIONS.matchers],
    },
    ...waitingChange(conditions, raw.status?.printableStatus),
    restoreInProgress: upTo(253, raw.status?.restoreInProgress),
    snapshotInProgress: upTo(253, raw.status?.snapshotInProgress),
    lastRestore: upTo(317, object.metadata.annotations?.[LAST_RESTORE]),
    rootClaim: upTo(253, rootVolume(raw.spec)?.persistentVolumeClaim?.claimName),
    rootDataVolume: upTo(253, rootVolume(raw.spec)?.dataVolume?.name),
  }
}

/** Characters of the annotation that are read. The operator writes no more. */
const OVERRIDES_NOTE_MAX = 16_000

function overriddenSteps({ metadata }: KubeObject): (readonly OverrideStep[])[] {
  const note = metadata.annotations?.[ANNOTATIONS.overrides] ?? ''
  if (note === '' || note.length > OVERRIDES_NOTE_MAX) return []
  return note.split(',', OVERRIDE_VALUES_MAX).flatMap((path) => {
    const steps = overrideSteps('vm', path)
    return steps === undefined ? [] : [steps]
  })
}

/** The lists with items are in the view as a whole. Of an object only its presence was overridden. */
function valuesAt(spec: Raw, places: readonly (readonly OverrideStep[])[]) {
  return places.flatMap((steps) => {
    const value = valueAtSteps(spec, steps)
    const isInView = value === undefined || steps.some((step) => typeof step !== 'string')
    const own = typeof value === 'object' && value !== null && !Array.isArray(value) ? {} : value
    return isInView ? [] : [{ steps, value: own, isQuantity: false, among: undefined }]
  })
}

function overriddenPaths(places: readonly (readonly OverrideStep[])[], rest: Raw): OverriddenPaths | undefined {
  if (places.length === 0) return undefined
  const upTo = places.flatMap((steps) => steps.map((_step, index) => steps.slice(0, index + 1)))
  const objects = upTo.filter((steps) => steps.every((step) => typeof step === 'string'))
  const shared = objects.filter((steps) => valueAtSteps(rest, steps) !== undefined)
  return { paths: places.map(overridePath), shared: [...new Set(shared.map(overridePath))] }
}

function hardwareIn(domain: Raw): MachineHardware {
  return withoutUndefined({
    bootloader: domain?.firmware?.bootloader,
    smm: domain?.features?.smm,
    tpm: domain?.devices?.tpm,
    windows: windowsIn(domain),
  })
}

function matchersIn({ instancetype, preference }: Raw = {}): GuestMatchers {
  return withoutUndefined({ instancetype, preference })
}

function windowsIn(domain: Raw): WindowsHardware | undefined {
  const { acpi, apic, hyperv } = domain?.features ?? {}
  const features = withoutUndefined({ acpi, apic, hyperv }) as WindowsHardware['features']
  const { clock } = domain ?? {}
  return Object.keys(features).length === 0 && clock === undefined ? undefined : { features, clock }
}

/** Annotation on what a restore of KubeVirt has written. */
const LAST_RESTORE = 'restore.kubevirt.io/lastRestoreUID'

/** Labels of the template, which the instance and its pod have, too. */
const TEMPLATE_LABELS = [
  LABELS.vmUid,
  LABELS.vmName,
  LABELS.workspace,
  LABELS.nodeGroup,
  LABELS.baseVm,
  LABELS.baseVmVersion,
  LABELS.version,
  LABELS.hosts,
]

const KUBEVIRT: Matters = {
  labels: [...TEMPLATE_LABELS, LABELS.managedBy],
  annotations: [ANNOTATIONS.cloudInit, ANNOTATIONS.fieldsFromSpec, ANNOTATIONS.retriedAt],
  // Each is a list of names. Cut, it would never be as wanted.
  whole: [ANNOTATIONS.disks, ANNOTATIONS.givenMacAddresses, ANNOTATIONS.matchers, ANNOTATIONS.overrides],
}
const INSTANCE: Matters = { labels: [LABELS.vmUid, LABELS.hosts], annotations: [ANNOTATIONS.retriedAt] }

/** Reasons of KubeVirt why it creates nothing: what is to be created is refused, or it names what does not exist. */
const REFUSALS: ReadonlySet<string> = new Set(['FailedCreate', 'FailedFindInstancetype', 'FailedFindPreference'])

/** States in which a guest is powered on. Conditions can outlive the instance that they describe. */
export const IS_ON: ReadonlySet<string | undefined> = new Set(['Running', 'Paused', 'Migrating'])

/** Reasons of failures to apply a change while the guest runs. */
const LIVE_CHANGE = /^(HotPlug|FailedUpdate).*Error$|ChangeError$/

/** What KubeVirt gives a running guest by a live migration, by the condition that stays until then. */
const BY_MIGRATION = { HotVCPUChange: 'CPUs', HotMemoryChange: 'memory' }

/** Describes a change that a running guest does not have yet, also where no condition reports that. */
function waitingChange(
  conditions: readonly Raw[],
  printableStatus: unknown,
): Pick<KubeVirtView, 'restartRequired' | 'migrationRequired'> {
  const required = conditionIn(conditions, 'RestartRequired', 'True')
  const said = required && String(required.message || required.reason || required.type)
  if (said !== undefined) return { restartRequired: said, migrationRequired: '' }
  // During a migration KubeVirt refuses some changes, and makes them when it is over.
  const isSteady = printableStatus === 'Running' || printableStatus === 'Paused'
  return isSteady ? hotChange(conditions) : { restartRequired: '', migrationRequired: '' }
}

/**
 * KubeVirt adds CPUs and memory only by live migration, which it starts by itself only if it is configured so. A machine that cannot migrate waits without
 * reporting it, and KubeVirt refuses any other number of CPUs meanwhile.
 */
function hotChange(conditions: readonly Raw[]): Pick<KubeVirtView, 'restartRequired' | 'migrationRequired'> {
  const failure = conditionIn(conditions, 'Failure', 'True')
  const restart = (restartRequired: string) => ({ restartRequired, migrationRequired: '' })
  if (LIVE_CHANGE.test(failure?.reason))
    return restart(`KubeVirt cannot change the guest while it runs: ${failure.message}`)
  const waiting = Object.entries(BY_MIGRATION).filter(([type]) => conditionIn(conditions, type, 'True') !== undefined)
  if (waiting.length === 0) return restart('')
  const what = waiting.map(([, one]) => one).join(' and ')
  if (conditionIn(conditions, 'LiveMigratable', 'False') !== undefined)
    return restart(`the machine cannot migrate, so it gets its ${what} when it restarts`)
  const migrationRequired = `the guest gets its ${what} when it migrates, which KubeVirt does by itself only with workloadUpdateMethods LiveMigrate`
  return { restartRequired: '', migrationRequired }
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
    isProbed: raw.spec?.readinessProbe !== undefined,
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

function rootVolume(spec: Raw): Raw {
  const volumes: Raw[] = spec?.template?.spec?.volumes ?? []
  return volumes.find(({ name }) => name === ROOT_DISK)
}

/** The members that we render; what KubeVirt fills in (architecture, machine type, firmware) is its own. */
function ownedSpec({ metadata, spec }: Raw): object {
  const { hostname, terminationGracePeriodSeconds, networks, volumes, domain } = spec?.template?.spec ?? {}
  const { affinity, nodeSelector, tolerations, readinessProbe } = spec?.template?.spec ?? {}
  const { cpu, memory, resources, devices, firmware } = domain ?? {}
  const { autoattachPodInterface, rng, tpm, disks, interfaces } = devices ?? {}
  const labels: Record<string, string> = spec?.template?.metadata?.labels ?? {}
  const ours = TEMPLATE_LABELS.filter((label) => labels[label] !== undefined)
  return withoutUndefined({
    ...matchersIn(spec),
    runStrategy: spec?.runStrategy,
    template: {
      metadata: { labels: Object.fromEntries(ours.map((label) => [label, labels[label]])) },
      spec: withoutUndefined({
        hostname,
        terminationGracePeriodSeconds,
        affinity,
        nodeSelector,
        tolerations,
        readinessProbe,
        domain: withoutUndefined({
          cpu: unlessEmpty({ sockets: cpu?.sockets, cores: cpu?.cores, threads: cpu?.threads }),
          firmware:
            firmware?.uuid === undefined
              ? undefined
              : withoutUndefined({ uuid: firmware.uuid, bootloader: firmware.bootloader }),
          ...ownedOfSystem(domain, namesFromSpec(metadata?.annotations?.[ANNOTATIONS.fieldsFromSpec])),
          memory: unlessEmpty({ guest: memory?.guest }),
          resources: ownedResources(resources, metadata?.annotations?.[ANNOTATIONS.matchers]),
          devices: withoutUndefined({ autoattachPodInterface, rng, tpm, disks, interfaces }),
        }),
        networks,
        volumes,
      }),
    },
  })
}

/** What a Windows guest is given is ours only if we gave it: people may give it to any machine. */
function ownedOfSystem(domain: Raw, fromSpec: ReadonlySet<string>): Raw {
  const { smm } = domain?.features ?? {}
  const { features, clock } = (fromSpec.has(WINDOWS_FROM_SPEC) && windowsIn(domain)) || {}
  return { features: unlessEmpty({ ...features, smm }), clock }
}

/** An instance type may have KubeVirt request less memory than the guest has. Otherwise that is none of ours. */
function ownedResources({ requests }: Raw = {}, matchers = ''): object | undefined {
  const isSized = matchers.includes('instancetype=')
  const ours = unlessEmpty({ cpu: requests?.cpu, memory: isSized ? requests?.memory : undefined })
  return ours === undefined ? undefined : { requests: ours }
}

/** With an instance type KubeVirt's machine has no CPU and memory of its own, but may have other fields beside them. */
function unlessEmpty(fields: Raw): object | undefined {
  const all = withoutUndefined(fields)
  return Object.keys(all).length === 0 ? undefined : all
}
