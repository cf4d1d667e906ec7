import { claimNamesOf, type InstanceSpec } from './kubevirt-models.ts'
import type { Claim, DataVolume } from './models.ts'
import type { World } from './world.ts'

/** The state of one disk, as KubeVirt sees it. */
export interface MachineDisk {
  readonly name: string
  readonly claim: Claim | undefined
  readonly dataVolume: DataVolume | undefined
}

export function disksOf(world: World, namespace: string, spec: InstanceSpec): MachineDisk[] {
  return claimNamesOf(spec).map((name) => {
    const key = `${namespace}/${name}`
    return { name, claim: world.claims.get(key), dataVolume: world.dataVolumes.get(key) }
  })
}

export function hasFailed({ dataVolume }: MachineDisk): boolean {
  return dataVolume?.status?.phase === 'Failed'
}

/** Also reports an importer that will be restarted. */
export function hasError(disk: MachineDisk): boolean {
  const running = disk.dataVolume?.status?.conditions?.find(({ type }) => type === 'Running')
  const isInError = running?.status === 'False' && (running.reason === 'Error' || running.reason === 'ImagePullFailed')
  return hasFailed(disk) || isInError
}

/** Reports whether a DataVolume is being filled and does not wait for its consumer. */
export function isProvisioning({ dataVolume }: MachineDisk): boolean {
  if (dataVolume === undefined) return false
  return !['Succeeded', 'Failed', ...WAITING_FOR_CONSUMER].includes(dataVolume.status?.phase ?? '')
}

/** Reports whether the launcher pod can be created: the disk is filled, or will be once the pod exists. */
export function isReadyToLaunch({ claim, dataVolume }: MachineDisk): boolean {
  if (claim === undefined) return false
  return dataVolume === undefined || ['Succeeded', 'PendingPopulation'].includes(dataVolume.status?.phase ?? '')
}

/** Reports whether the disk needs a pod that only uses the claim. */
export function needsTemporaryPod({ dataVolume }: MachineDisk): boolean {
  return dataVolume?.status?.phase === 'WaitForFirstConsumer'
}

const WAITING_FOR_CONSUMER = ['WaitForFirstConsumer', 'PendingPopulation']
