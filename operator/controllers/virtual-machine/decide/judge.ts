import type { VirtualMachineSpec } from '@open-terrain/constructs/operator'
import { toTime } from '../../../base/time.ts'
import { claimMessageOf } from '../../../cluster/claim-message.ts'
import { type PodEvent, warningFrom } from '../../../cluster/pod-events.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { type InstanceView, IS_ON, type KubeVirtView } from '../kubevirt-views.ts'
import type { CloneFacts, CreateRefusal, MachineView, MachineWorld, Obstacle } from '../world.ts'
import { failed, ready, waiting } from './machine-plan.ts'
import type { MachineSummary } from './status.ts'

/** Phases of a DataVolume that waits for the pod of its machine to choose a node. */
const WAITS_FOR_CONSUMER: ReadonlySet<string> = new Set(['WaitForFirstConsumer', 'PendingPopulation'])

/** Messages of the API server for a rejection by admission or validation: the same instance is rejected again. */
const REFUSED = /denied the request|is forbidden|is invalid|exceeded quota/

/** Reason of an instance's condition Ready: its pod has a deletionTimestamp. On a lost node, that lasts. */
export const POD_GOES = 'PodTerminating'

/** Reason of an instance's condition Ready while its probe fails. Nobody else makes the container of a guest unready that runs. */
const PROBE_FAILS = 'ContainersNotReady'

type Readiness = NonNullable<VirtualMachineSpec['readiness']>

/** States in which the pod does not run yet. `Starting` hides whatever keeps it from running. */
const STARTS: ReadonlySet<string | undefined> = new Set(['Starting', 'ErrImagePull', 'ImagePullBackOff'])

/** Reports whether CDI continues with a disk only when a pod uses it. */
export function waitsForConsumer({ phase }: Pick<CloneFacts, 'phase'>): boolean {
  return WAITS_FOR_CONSUMER.has(phase)
}

/** Reports whether a machine is starting and KubeVirt gives no further reason: if that lasts, a live look is worth it. */
export function isStarting(world: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine'>): boolean {
  const { printableStatus, failure, refusedPod }: Partial<KubeVirtView> = world.machine ?? {}
  return isToStart(world) && STARTS.has(printableStatus) && failure === '' && refusedPod === ''
}

/**
 * Returns the object for which KubeVirt cannot create something: a machine without its instance, or an instance without its pod. When that
 * object changes, its controller tries again.
 */
export function refusedOf({ machine, instance }: Pick<MachineWorld, 'machine' | 'instance'>) {
  if (machine === undefined || machine.failure !== '') return machine
  return machine.refusedPod === '' ? undefined : instance
}

/** Reports whether KubeVirt cannot create the instance or pod. Its conditions keep the first text, even if later ones differ. */
export function isRefused(world: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine' | 'instance'>): boolean {
  return isToStart(world) && refusedOf(world) !== undefined && !IS_ON.has(world.machine?.printableStatus)
}

function isToStart({ vm, spec, clone, machine }: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine'>): boolean {
  if (isTerminating(vm) || !spec.ok || spec.spec.ignoreOnDeploy === true) return false
  const isThere = machine !== undefined && !isTerminating(machine)
  return isThere && (clone === undefined || clone.phase === 'Succeeded')
}

/** Reports whether the status shows that the machine has been starting for too long. */
export function reportsHang({ phase, kubevirt, conditions }: MachineView['status']): boolean {
  const reason = reasonOf({ conditions })
  if (reason === 'NetworkMissing' || reason === 'PodNotStarting' || reason === 'StartFailed') return true
  return phase === 'Failed' && reason === 'Timeout' && STARTS.has(kubevirt?.printableStatus)
}

const ROOT_DISK = 'the root disk'

/**
 * Returns the summary of a disk that is not complete. KubeVirt's machine, if it exists, reports why no node is chosen.
 * @param which disk it is, for messages
 */
export function summaryOfDisk(clone: CloneFacts, machine?: KubeVirtView, which = ROOT_DISK): MachineSummary {
  const { phase, progress, running, bound } = clone
  const detail = withDetails(running.message || claimMessageOf(clone))
  if (phase === 'Failed') {
    const message = `DataVolume ${clone.metadata.name} is Failed${detail || ': CDI gives no reason'}; fix the cause, then delete the DataVolume: the disk is cloned again`
    return failed('CloneFailed', message)
  }
  const blocked = blockage(bound, which) ?? blockage(running, which)
  if (blocked !== undefined) return waiting('CloneFailed', blocked)
  if (waitsForConsumer(clone)) {
    const trouble = machine?.trouble ?? ''
    // KubeVirt's message from before the claim existed stays for a while.
    const why = trouble.includes('waiting for it to appear') ? '' : withDetails(trouble)
    return waiting('WaitingForVolumeBinding', `${which} waits for a node to be chosen (${phase})${why}`)
  }
  const share = progress === '' || progress === 'N/A' ? '' : ` (${progress})`
  const cloning = (moving: string) => `${which} is being cloned${moving}, CDI says ${phase || 'nothing yet'}${detail}`
  return waiting('Cloning', cloning(share), cloning(''))
}

/** Returns from a condition why CDI cannot begin, and what people can do. CDI then continues by itself. */
function blockage({ reason, message }: CloneFacts['bound'], which: string): string | undefined {
  const detail = message || `CDI says ${reason}`
  if (reason === 'ErrExceededQuota')
    return `a ResourceQuota of the namespace leaves no room for ${which}: ${detail}; raise it, or delete what nobody needs`
  if (reason === 'ErrClaimNotValid')
    return `CDI cannot make a valid claim for ${which}: ${detail}; give the StorageProfile of its storage class its claimPropertySets`
  return undefined
}

/**
 * Returns the summary of a machine whose disk is complete, according to KubeVirt. Of KubeVirt's states, only a rejected instance is a
 * failure: for any other state, time decides whether it lasts too long.
 */
export function summaryOfMachine(
  machine: KubeVirtView,
  obstacle?: Obstacle,
  instance?: InstanceView,
  readiness?: Readiness,
): MachineSummary {
  const { printableStatus, failure, refusedPod } = machine
  const { name, namespace } = machine.metadata
  // The instance has been created, whatever else KubeVirt reports.
  if (IS_ON.has(printableStatus)) return summaryOfGuest(machine, instance, readiness)
  // KubeVirt itself waits up to 1,000 s between two attempts: see `withRetry`.
  const cannotStart = (text: string, poked: string) =>
    `KubeVirt cannot start the machine: ${text}; once that is fixed, it starts within 5 minutes, or at once by: kubectl -n ${namespace} annotate --overwrite ${poked} ${name} poke="$(date)"`
  if (failure !== '') {
    const text = newestOf(failure, machine, obstacle)
    return (REFUSED.test(text) ? failed : waiting)('StartFailed', cannotStart(text, 'vm.kubevirt.io'))
  }
  // An exceeded quota shows only here, while the state is `Starting` or stale.
  if (refusedPod !== '' && printableStatus !== 'Stopped')
    return waiting('StartFailed', cannotStart(newestOf(refusedPod, machine, obstacle), 'vmi'))
  if (obstacle !== undefined && STARTS.has(printableStatus)) return summaryOfPod(machine, obstacle)
  return summaryWithoutGuest(machine, instance)
}

/** Returns the newest Event about what could not be created for one object, in the words of KubeVirt's condition. */
export function refusalOf(events: readonly PodEvent[]): CreateRefusal | undefined {
  // The object's name is not replaced in the text, since it may be part of other words.
  const [newest] = events
    .map((event) => warningFrom({ ...event, involvedObject: {} }))
    .toSorted((a, b) => b.last - a.last)
  if (newest === undefined) return undefined
  const text = newest.text
    .replace(/^Error creating virtual machine instance: /, 'Failure while starting VMI: ')
    .replace(/^Error creating pod: /, 'failed to create virtual machine pod: ')
  return { text, at: newest.last }
}

/** KubeVirt never updates the text of a condition that stays. An Event has a newer text, unless it is older than the condition. */
function newestOf(first: string, { refusedSince = 0 }: KubeVirtView, obstacle: Obstacle | undefined): string {
  const refusal = obstacle?.refusal
  return refusal === undefined || refusal.at < refusedSince ? first : refusal.text
}

/** Reports whether the guest of an instance is over. virt-handler reports it even while virt-controller is away, and the rest still shows a running guest. */
export function hasEnded(instance: Pick<InstanceView, 'phase'> | undefined): boolean {
  return instance?.phase === 'Succeeded' || instance?.phase === 'Failed'
}

function summaryOfGuest(
  machine: KubeVirtView,
  instance: InstanceView | undefined,
  readiness: Readiness | undefined,
): MachineSummary {
  // The state of KubeVirt's machine still says that it runs. If the two differ, the status shows the worse one.
  if (hasEnded(instance)) {
    const end = instance?.phase === 'Failed' ? 'the guest has failed' : 'the guest has shut down'
    const next = machine.runStrategy === 'Always' ? '; KubeVirt starts it again' : ''
    return waiting('GuestStopped', `${end}${next}`)
  }
  // No guest runs without an instance. KubeVirt's machine says so only when virt-controller has seen it.
  if (machine.isReady && instance === undefined)
    return waiting(
      'GuestStopped',
      `KubeVirt still says ${machine.printableStatus}, but VirtualMachineInstance ${machine.metadata.name} is gone`,
    )
  // KubeVirt copies isReady from the instance: if the two differ, one of them is stale, and the addresses may be missing.
  if (machine.isReady && instance?.isReady === true && machine.printableStatus !== 'Paused')
    return ready('Running', 'the machine runs')
  if (isPaused(machine)) return summaryOfPause(machine)
  if (instance?.unreadyReason === POD_GOES) return stopping(machine, instance)
  if (isUnanswered(instance)) return waiting('WaitingForGuest', unansweredBy(instance, readiness))
  return waiting('NotReady', `the instance runs and is not ready${withDetails(machine.unready, machine.trouble)}`)
}

/** Reports whether a guest that runs does not answer its probe. Its program may still be starting, and no restart would make it faster. */
export function isUnanswered(instance: InstanceView | undefined): boolean {
  return instance?.isProbed === true && instance.phase === 'Running' && instance.unreadyReason === PROBE_FAILS
}

function unansweredBy(instance: InstanceView | undefined, readiness: Readiness | undefined): string {
  const what = 'the guest runs, and is not ready for use'
  if (readiness === undefined)
    return `${what}: it does not answer the readinessProbe of VirtualMachineInstance ${instance?.metadata.name}`
  if (readiness.tcpPort !== undefined) return `${what}: it takes no connection on TCP port ${readiness.tcpPort}`
  if (instance?.hasAgent !== true)
    return `${what}: its guest agent does not answer; the image needs qemu-guest-agent, and the guest has to start it`
  return readiness.cloudInit === true
    ? `${what}: cloud-init has not done all its work, or has met an error, or the guest agent may not run programs; see cloud-init status in the guest`
    : `${what}: its guest agent is connected, and does not answer`
}

function summaryWithoutGuest(machine: KubeVirtView, instance: InstanceView | undefined): MachineSummary {
  const { printableStatus, trouble, retryAt } = machine
  const text = withDetails(trouble)
  switch (printableStatus) {
    case 'CrashLoopBackOff': {
      const crashing = (next: string) => `the machine fails before it runs, and is tried again ${next}${text}`
      const later = crashing('after a while')
      return waiting('CrashLoop', retryAt === undefined ? later : crashing(`at ${toTime(retryAt)}`), later)
    }
    case 'ErrorUnschedulable':
      return waiting('Unschedulable', `no node can take the machine${text}; ${waysToANode(trouble)}`)
    case 'WaitingForVolumeBinding':
      return waiting('WaitingForVolumeBinding', `the volume of the root disk is not bound yet${text}`)
    case 'Stopping':
      return stopping(machine, instance)
    case 'Stopped':
      return waiting('GuestStopped', 'the guest has stopped, or has not started yet; KubeVirt starts it')
    default: {
      const state = printableStatus === '' ? 'has not looked at the machine yet' : `says ${printableStatus}`
      if (instance?.phase !== 'Scheduled') return waiting('Starting', `KubeVirt ${state}${text}`)
      const message = `the pod of the machine runs${nodeOf(instance)}, and virt-handler there starts the guest${text}; if this lasts, see the virt-handler pod of that node`
      return waiting('Starting', message)
    }
  }
}

/** Words of the scheduler, and what people can do about what they say. */
const PLACES = [
  [/node affinity\/selector/, 'correct spec.nodeSelector, or label a node'],
  [/untolerated taint/, 'tolerate the taint with spec.tolerations'],
] as const

function waysToANode(trouble: string): string {
  const ways = PLACES.flatMap(([words, way]) => (words.test(trouble) ? [`${way}, `] : []))
  return `${ways.join('')}lower spec.resources, or add nodes`
}

/** On a lost node, KubeVirt cannot know whether the guest still writes to its disk, so it does not start it elsewhere. */
function stopping({ metadata, runStrategy }: KubeVirtView, instance: InstanceView | undefined): MachineSummary {
  const next = runStrategy === 'Always' ? ', and is started again once that is over' : ''
  const message = `the guest is being stopped${nodeOf(instance)}${next}; if this lasts, see whether the node is lost: VirtualMachineInstance ${metadata.name} ends only when its pod does`
  return waiting('Stopping', message)
}

export function nodeOf(instance: InstanceView | undefined): string {
  return instance?.nodeName === undefined ? '' : ` on node ${instance.nodeName}`
}

/** Reports whether any sign from KubeVirt shows that the guest is alive. */
export function answers({ machine, instance }: Pick<MachineWorld, 'machine' | 'instance'>): boolean {
  return machine?.isReady === true || instance?.isReady === true || instance?.hasAgent === true
}

/** Reports whether the CPUs of the guest are paused. The instance shows this first. */
export function standsStill({ machine, instance }: Pick<MachineWorld, 'machine' | 'instance'>): boolean {
  return instance?.isPaused === true || (machine !== undefined && isPaused(machine))
}

/** A machine can also be paused during a migration, when its state shows `Migrating` instead. */
function isPaused({ printableStatus, pause }: KubeVirtView): boolean {
  return printableStatus === 'Paused' || (printableStatus === 'Migrating' && pause !== undefined)
}

/** Reports whether people or a migration paused the guest: that may last as long as it likes. */
export function isPausedByChoice(machine: KubeVirtView): boolean {
  return isPaused(machine) && machine.pause?.reason !== 'PausedIOError'
}

function summaryOfPause({ pause }: KubeVirtView): MachineSummary {
  const detail = pause?.message ? ` (${pause.message})` : ''
  const unpause = 'unpause it, for instance with virtctl unpause'
  switch (pause?.reason) {
    case 'PausedIOError': {
      const message = `KubeVirt has paused the machine, since its disk cannot be written or read${detail}: see whether its storage is full or lost; the guest continues by itself when that is fixed`
      return waiting('PausedIOError', message)
    }
    case 'PausedByMigrationMonitor':
      return waiting('Paused', `KubeVirt has paused the machine until its migration ends${detail}`)
    case 'PausedByUser':
      return waiting('Paused', `somebody paused the machine${detail}: ${unpause}`)
    default:
      return waiting('Paused', `KubeVirt says that the machine is paused${detail}: ${unpause}`)
  }
}

/** Returns text to append to a sentence; empty if there is none. */
function withDetails(...texts: readonly string[]): string {
  const details = texts.filter((text) => text !== '')
  return details.length === 0 ? '' : `: ${details.join('; ')}`
}

function summaryOfPod({ metadata }: KubeVirtView, obstacle: Obstacle): MachineSummary {
  const { missingNetworks, hasMultus, warning = '' } = obstacle
  if (missingNetworks.length === 0)
    return waiting('PodNotStarting', `the pod of the machine does not start: ${warning}`)
  const names = missingNetworks.join(', ')
  const place = missingNetworks.some((name) => name.includes('/')) ? '' : ` in namespace ${metadata.namespace}`
  const message = hasMultus
    ? `NetworkAttachmentDefinition ${names}, which spec.interfaces names, does not exist${place}: create it, or correct the name`
    : `spec.interfaces names NetworkAttachmentDefinition ${names}, and the cluster does not serve that kind: install Multus`
  return waiting('NetworkMissing', message)
}
