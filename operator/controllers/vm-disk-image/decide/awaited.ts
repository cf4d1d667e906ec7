import { saidOfClaim } from '../../../cluster/said-of-claim.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { Observation } from '../world.ts'

/** Whether CDI has said nothing of it yet. */
export function isUntold({ phase, bound, running }: DataVolumeView): boolean {
  return phase === '' && bound.status === '' && running.status === ''
}

/** What a download waits for whose importer does not run yet, to be read after "waiting for". */
export function awaitedBy(
  dataVolume: DataVolumeView,
  { claimRefusal, importers }: Pick<Observation, 'claimRefusal' | 'importers'>,
): string {
  const { phase, running } = dataVolume
  if (claimRefusal !== undefined) return `its volume (${claimRefusal})`
  // CDI makes the next one when it is gone, and shows what that one was doing until then. A lost node keeps it for long.
  if (importers.length > 0 && importers.every(({ metadata }) => metadata.deletionTimestamp !== undefined))
    return 'its importer pod, which is being deleted, to be gone'
  if (isUntold(dataVolume)) return 'CDI to act on its DataVolume'
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
  const said = saidOfClaim(dataVolume)
  return said === '' ? 'its volume' : `its volume (${said})`
}
