import { type InstanceView, IS_ON, type KubeVirtView } from '../../../cluster/kubevirt-views.ts'
import { saidOfClaim } from '../../../cluster/said-of-claim.ts'
import { toTime } from '../../../runtime/conditions.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import type { CloneFacts, MachineView } from '../views.ts'
import type { MachineWorld } from '../world.ts'
import { failed, waiting } from './machine-plan.ts'
import type { Obstacle } from './obstacle.ts'
import { refusedOf } from './plan-retries.ts'
import type { MachineStanding } from './status.ts'

/** Phases of a DataVolume that waits for the pod of its machine to choose a node. */
const WAITS_FOR_CONSUMER: ReadonlySet<string> = new Set(['WaitForFirstConsumer', 'PendingPopulation'])

/** Of an admission webhook or of validation, in the words of the API server: the same instance is refused again. */
const REFUSED = /denied the request|is forbidden|is invalid|exceeded quota/

/** Of the condition Ready of an instance: its pod has a deletionTimestamp. On a node that is lost, that lasts. */
export const POD_GOES = 'PodTerminating'

/** States of a pod that does not run yet. KubeVirt hides under the first one whatever keeps it from that. */
const STARTS: ReadonlySet<string> = new Set(['Starting', 'ErrImagePull', 'ImagePullBackOff'])

/** Whether CDI goes on with a disk only once a pod uses it. */
export function waitsForConsumer({ phase }: Pick<CloneFacts, 'phase'>): boolean {
  return WAITS_FOR_CONSUMER.has(phase)
}

/** Whether a machine is starting, as KubeVirt says without saying more: where that lasts, it is worth a look. */
export function isStarting(world: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine'>): boolean {
  const { machine } = world
  if (machine === undefined || !isToStart(world)) return false
  return STARTS.has(machine.printableStatus) && machine.failure === '' && machine.refusedPod === ''
}

/** Whether KubeVirt cannot create its instance or pod: its conditions keep the first text, whatever is said later. */
export function isRefused(world: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine' | 'instance'>): boolean {
  return isToStart(world) && refusedOf(world) !== undefined && !IS_ON.has(world.machine?.printableStatus)
}

function isToStart({ vm, spec, clone, machine }: Pick<MachineWorld, 'vm' | 'spec' | 'clone' | 'machine'>): boolean {
  if (vm.metadata.deletionTimestamp !== undefined || !spec.ok || spec.spec.ignoreOnDeploy === true) return false
  const isThere = machine !== undefined && machine.metadata.deletionTimestamp === undefined
  return isThere && (clone === undefined || clone.phase === 'Succeeded')
}

/** Whether the status tells of a machine that has been starting for too long. */
export function tellsOfHang({ phase, kubevirt, conditions }: MachineView['status']): boolean {
  const reason = reasonOf({ conditions })
  if (reason === 'NetworkMissing' || reason === 'PodNotStarting' || reason === 'StartFailed') return true
  return phase === 'Failed' && reason === 'Timeout' && STARTS.has(kubevirt?.printableStatus ?? '')
}

/**
 * Where the disk of a machine stands, as long as it is not complete.
 * @param machine where it is there already: it says why no node is chosen
 */
export function standingOfDisk(clone: CloneFacts, machine?: KubeVirtView): MachineStanding {
  const { phase, progress, running, bound } = clone
  const says = told(running.message || saidOfClaim(clone))
  if (phase === 'Failed')
    return failed('CloneFailed', `DataVolume ${clone.metadata.name} is Failed${says || ': CDI gives no reason'}`)
  const blocked = blockage(bound) ?? blockage(running)
  if (blocked !== undefined) return waiting('CloneFailed', blocked)
  if (waitsForConsumer(clone)) {
    const trouble = machine?.trouble ?? ''
    // What KubeVirt said before there was a claim stays for a while.
    const why = trouble.includes('waiting for it to appear') ? '' : told(trouble)
    return waiting('WaitingForVolumeBinding', `the root disk waits for a node to be chosen (${phase})${why}`)
  }
  const share = progress === '' || progress === 'N/A' ? '' : ` (${progress})`
  const cloning = (moving: string) =>
    `the root disk is being cloned${moving}, CDI says ${phase || 'nothing yet'}${says}`
  return waiting('Cloning', cloning(share), cloning(''))
}

/** Why CDI cannot begin, and what people can do about it, by a condition. It goes on by itself then. */
function blockage({ reason, message }: CloneFacts['bound']): string | undefined {
  const says = message || `CDI says ${reason}`
  switch (reason) {
    case 'ErrExceededQuota':
      return `a ResourceQuota of the namespace leaves no room for the root disk: ${says}; raise it, or delete what nobody needs`
    case 'ErrClaimNotValid':
      return `CDI cannot make a valid claim for the root disk: ${says}; give the StorageProfile of its storage class its claimPropertySets`
    default:
      return undefined
  }
}

/**
 * Where the machine stands by what KubeVirt says, once its disk is complete. Of KubeVirt's states only an instance that was refused
 * is an end: whether another one lasts too long is judged by time.
 * @param obstacle what a live look has found to keep its pod from starting
 * @param instance its present run
 */
export function standingOfMachine(
  machine: KubeVirtView,
  obstacle?: Obstacle,
  instance?: InstanceView,
): MachineStanding {
  const { printableStatus, failure, refusedPod } = machine
  // Whatever KubeVirt says beside: it has been created.
  if (IS_ON.has(printableStatus)) return standingOfGuest(machine, instance)
  const cannotStart = (text: string, poked: string) =>
    `KubeVirt cannot start the machine: ${text}; ${triedAgain(poked, machine)}`
  if (failure !== '') {
    const text = newestOf(failure, machine, obstacle)
    return (REFUSED.test(text) ? failed : waiting)('StartFailed', cannotStart(text, 'vm.kubevirt.io'))
  }
  // A full quota shows only here, while the state says `Starting`, or something stale.
  if (refusedPod !== '' && printableStatus !== 'Stopped')
    return waiting('StartFailed', cannotStart(newestOf(refusedPod, machine, obstacle), 'vmi'))
  if (obstacle !== undefined && STARTS.has(printableStatus)) return standingOfPod(machine, obstacle)
  return standingWithoutGuest(machine, instance)
}

/** KubeVirt never updates the text of a condition that stays. An Event has the newer one, if it is no older than the condition. */
function newestOf(first: string, { refusedSince = 0 }: KubeVirtView, obstacle: Obstacle | undefined): string {
  const refusal = obstacle?.refusal
  return refusal === undefined || refusal.at < refusedSince ? first : refusal.text
}

/** KubeVirt itself waits for up to 1,000 s between two tries: see `withRetry`. */
function triedAgain(kind: string, { metadata: { name, namespace } }: KubeVirtView): string {
  return `once that is fixed, it starts within 5 minutes, or at once by: kubectl -n ${namespace} annotate --overwrite ${kind} ${name} poke="$(date)"`
}

/** A guest that is switched on. */
function standingOfGuest(machine: KubeVirtView, instance: InstanceView | undefined): MachineStanding {
  // KubeVirt copies it from the instance: where that says otherwise, one of the two is not news, and its addresses may be missing.
  if (machine.isReady && instance?.isReady !== false && machine.printableStatus !== 'Paused')
    return { phase: 'Ready', reason: 'Running', message: 'the machine runs' }
  if (isPaused(machine)) return standingOfPause(machine)
  if (instance?.unreadyReason === POD_GOES) return stopping(machine, instance)
  return waiting('NotReady', `the instance runs and is not ready${told(machine.unready, machine.trouble)}`)
}

function standingWithoutGuest(machine: KubeVirtView, instance: InstanceView | undefined): MachineStanding {
  const { printableStatus, trouble, retryAt } = machine
  const text = told(trouble)
  switch (printableStatus) {
    case 'CrashLoopBackOff': {
      const crashing = (next: string) => `the machine fails before it runs, and is tried again ${next}${text}`
      const later = crashing('after a while')
      return waiting('CrashLoop', retryAt === undefined ? later : crashing(`at ${toTime(retryAt)}`), later)
    }
    case 'ErrorUnschedulable':
      return waiting('Unschedulable', `no node can take the machine${text}`)
    case 'WaitingForVolumeBinding':
      return waiting('WaitingForVolumeBinding', `the volume of the root disk is not bound yet${text}`)
    case 'Stopping':
      return stopping(machine, instance)
    case 'Stopped':
      return waiting('GuestStopped', 'the guest has stopped; KubeVirt starts it again')
    default: {
      if (instance?.phase === 'Scheduled')
        return waiting(
          'Starting',
          `the pod of the machine runs${nodeOf(instance)}, and virt-handler there starts the guest${text}; if this lasts, see the virt-handler pod of that node`,
        )
      const state = printableStatus === '' ? 'has not looked at the machine yet' : `says ${printableStatus}`
      return waiting('Starting', `KubeVirt ${state}${text}`)
    }
  }
}

/** Of a node that is lost, KubeVirt cannot know whether the guest still writes to its disk, and starts it nowhere else. */
function stopping(
  { metadata: { name }, runStrategy }: KubeVirtView,
  instance: InstanceView | undefined,
): MachineStanding {
  const next = runStrategy === 'Always' ? ', and is started again once that is over' : ''
  return waiting(
    'Stopping',
    `the guest is being stopped${nodeOf(instance)}${next}; if this lasts, see whether the node is lost: VirtualMachineInstance ${name} ends only when its pod does`,
  )
}

function nodeOf(instance: InstanceView | undefined): string {
  return instance?.nodeName === undefined ? '' : ` on node ${instance.nodeName}`
}

/** Whether its guest shows that it lives, by whatever KubeVirt tells of it. */
export function answers({ machine, instance }: Pick<MachineWorld, 'machine' | 'instance'>): boolean {
  return machine?.isReady === true || instance?.isReady === true || instance?.hasAgent === true
}

/** Whether the CPUs of its guest stand still, as its instance shows it first. */
export function standsStill({ machine, instance }: Pick<MachineWorld, 'machine' | 'instance'>): boolean {
  return instance?.isPaused === true || (machine !== undefined && isPaused(machine))
}

/** Also while it migrates, which its state shows instead. */
function isPaused({ printableStatus, pause }: KubeVirtView): boolean {
  return printableStatus === 'Paused' || (printableStatus === 'Migrating' && pause !== undefined)
}

function standingOfPause({ pause }: KubeVirtView): MachineStanding {
  const says = pause?.message ? ` (${pause.message})` : ''
  const unpause = 'unpause it, for instance with virtctl unpause'
  switch (pause?.reason) {
    case 'PausedIOError':
      return waiting(
        'PausedIOError',
        `KubeVirt has paused the machine, since its disk cannot be written or read${says}: see whether its storage is full or lost; the guest continues by itself when that is fixed`,
      )
    case 'PausedByMigrationMonitor':
      return waiting('Paused', `KubeVirt has paused the machine until its migration ends${says}`)
    case 'PausedByUser':
      return waiting('Paused', `somebody paused the machine${says}: ${unpause}`)
    default:
      return waiting('Paused', `KubeVirt says that the machine is paused${says}: ${unpause}`)
  }
}

/** To be added to a sentence; empty where there is nothing to tell. */
function told(...texts: readonly string[]): string {
  const said = texts.filter((text) => text !== '')
  return said.length === 0 ? '' : `: ${said.join('; ')}`
}

function standingOfPod(
  { metadata }: KubeVirtView,
  { missingNetworks, hasMultus, warning = '' }: Obstacle,
): MachineStanding {
  if (missingNetworks.length === 0)
    return waiting('PodNotStarting', `the pod of the machine does not start: ${warning}`)
  const names = missingNetworks.join(', ')
  return waiting(
    'NetworkMissing',
    hasMultus
      ? `spec.interfaces names what namespace ${metadata.namespace} does not have, NetworkAttachmentDefinition ${names}: create it, or correct the name`
      : `spec.interfaces names NetworkAttachmentDefinition ${names}, and the cluster does not serve that kind: install Multus`,
  )
}
