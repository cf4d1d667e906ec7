import { failed, waiting } from './machine-plan.ts'
import type { Standing } from './status.ts'
import type { CloneFacts, KubeVirtView } from './views.ts'

/** Phases of a DataVolume that waits for the pod of its machine to choose a node. */
const WAITS_FOR_CONSUMER: ReadonlySet<string> = new Set(['WaitForFirstConsumer', 'PendingPopulation'])

/** Of an admission webhook or of validation, in the words of the API server: the same instance is refused again. */
const REFUSED = /denied the request|is forbidden|is invalid|exceeded quota/

/**
 * Where the disk of a machine stands, as long as it is not complete.
 * @param machine where it is there already: it says why no node is chosen
 */
export function standingOfDisk(clone: CloneFacts, machine?: KubeVirtView): Standing {
  const { phase, progress, running, bound } = clone
  const text = running.message || bound.message
  const says = text === '' ? '' : `: ${text}`
  if (phase === 'Failed')
    return failed('CloneFailed', `DataVolume ${clone.metadata.name} is Failed${says || ': CDI gives no reason'}`)
  if (WAITS_FOR_CONSUMER.has(phase)) {
    const trouble = machine?.trouble ?? ''
    // What KubeVirt said before there was a claim stays for a while.
    const why = trouble === '' || trouble.includes('waiting for it to appear') ? '' : `: ${trouble}`
    return waiting('WaitingForVolumeBinding', `the root disk waits for a node to be chosen (${phase})${why}`)
  }
  const share = progress === '' || progress === 'N/A' ? '' : ` (${progress})`
  return waiting('Cloning', `the root disk is being cloned${share}, CDI says ${phase || 'nothing yet'}${says}`)
}

/**
 * Where the machine stands by what KubeVirt says, once its disk is complete. Of KubeVirt's states only an instance that was refused
 * is an end: whether another one lasts too long is judged by time.
 */
export function standingOfMachine({ printableStatus, isReady, trouble, failure, refusedPod }: KubeVirtView): Standing {
  const text = trouble === '' ? '' : `: ${trouble}`
  const isUp = printableStatus === 'Running' || printableStatus === 'Migrating'
  if (isUp && isReady) return { phase: 'Ready', reason: 'Running', message: 'the machine runs' }
  if (failure !== '') {
    const isRefused = REFUSED.test(failure)
    return (isRefused ? failed : waiting)('StartFailed', `KubeVirt cannot start the machine: ${failure}`)
  }
  // A full quota shows only here, while the state says `Starting`, or something stale.
  if (refusedPod !== '') return waiting('StartFailed', `KubeVirt cannot start the machine: ${refusedPod}`)
  switch (printableStatus) {
    case 'CrashLoopBackOff':
      return waiting('CrashLoop', `the machine fails before it runs, and is tried again after a while${text}`)
    case 'ErrorUnschedulable':
      return waiting('Unschedulable', `no node can take the machine${text}`)
    case 'WaitingForVolumeBinding':
      return waiting('WaitingForVolumeBinding', `the volume of the root disk is not bound yet${text}`)
    case 'Paused':
      return waiting('Paused', 'somebody paused the machine: unpause it, for instance with virtctl unpause')
    case 'Stopped':
    case 'Stopping':
      return waiting('GuestStopped', 'the guest has stopped; KubeVirt starts it again')
    default: {
      const state = printableStatus === '' ? 'has not looked at the machine yet' : `says ${printableStatus}`
      return waiting('Starting', `KubeVirt ${state}${text}`)
    }
  }
}
