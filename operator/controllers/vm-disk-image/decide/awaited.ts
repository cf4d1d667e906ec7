import { claimMessageOf } from '../../../cluster/claim-message.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { Observation } from '../world.ts'

/** Reports whether CDI still shows nothing for the DataVolume. */
export function isUnreported({ phase, bound, running }: DataVolumeView): boolean {
  return phase === '' && bound.status === '' && running.status === ''
}

/** Returns what a download waits for while its importer does not run yet, as text after "waiting for". */
export function awaitedBy(
  dataVolume: DataVolumeView,
  { claimRefusal, importers }: Pick<Observation, 'claimRefusal' | 'importers'>,
): string {
  const { phase, running } = dataVolume
  if (claimRefusal !== undefined) return `its volume (${claimRefusal})`
  // CDI creates the next pod only when this one is gone, and shows its last state until then. On a lost node that takes long.
  if (importers.length > 0 && importers.every(({ metadata }) => metadata.deletionTimestamp !== undefined))
    return 'its importer pod, which is being deleted, to be gone'
  if (isUnreported(dataVolume)) return 'CDI to act on its DataVolume'
  if (phase === 'PendingPopulation') return 'the first consumer of its volume'
  switch (running.reason) {
    case 'ImagePullFailed':
      return `the importer's container image (${running.message})`
    case 'Unschedulable':
      return 'a node that has room for the importer pod, and its volume'
    case 'Scratch space required':
      return 'a volume with scratch space'
    case '':
    case 'Completed':
      break
    case 'ContainerCreating':
    case 'PodInitializing':
      return 'its importer pod to start'
    default:
      return `its importer pod to start (${running.message || running.reason})`
  }
  if (phase === 'ImportScheduled') return 'its importer pod to start'
  const message = claimMessageOf(dataVolume)
  return message === '' ? 'its volume' : `its volume (${message})`
}
