import { claimNamesOf, type InstanceSpec } from './kubevirt-models.ts'
import type { Claim, DataVolume } from './models.ts'
import type { World } from './world.ts'

/** How one disk stands, as KubeVirt sees it. */
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

/** Also of an importer that will be restarted. */
export function hasError(disk: MachineDisk): boolean {
  const running = disk.dataVolume?.status?.conditions?.find(({ type }) => type === 'Running')
  const isInError = running?.status === 'False' && (running.reason === 'Error' || running.reason === 'ImagePullFailed')
  return hasFailed(disk) || isInError
}

/** A DataVolume is being filled that does not wait for its consumer. */
export function isProvisioning({ dataVolume }: MachineDisk): boolean {
  if (dataVolume === undefined) return false
  return !['Succeeded', 'Failed', ...WAITING_FOR_CONSUMER].includes(dataVolume.status?.phase ?? '')
}

/** Whether the launcher pod may be created: the disk is full, or is filled once the pod is there. */
export function isReadyToLaunch({ claim, dataVolume }: MachineDisk): boolean {
  if (claim === undefined) return false
  return dataVolume === undefined || ['Succeeded', 'PendingPopulation'].includes(dataVolume.status?.phase ?? '')
}

/** Asks for a pod that does nothing but use the claim. */
export function needsTemporaryPod({ dataVolume }: MachineDisk): boolean {
  return dataVolume?.status?.phase === 'WaitForFirstConsumer'
}

const WAITING_FOR_CONSUMER = ['WaitForFirstConsumer', 'PendingPopulation']
