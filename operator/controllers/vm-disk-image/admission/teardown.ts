import { isChildOf } from '../../../cluster/ownership.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { KubeClient, RequestOptions } from '../../../kube/kube-client.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'

/** So long after it was deleted nobody asks what a DataVolume still does: CDI and the garbage collector are at work. */
export const LEAVING_MS = 15_000
/**
 * Whether a DataVolume that is being deleted has a claim that CDI may fill. For one that is being deleted as well it starts no importer,
 * whatever finalizer keeps it; a prime claim follows its target.
 */
export async function hasFillableClaim(
  client: KubeClient,
  dataVolume: KubeObject,
  options: RequestOptions,
): Promise<boolean> {
  const claim = await find(client, PERSISTENT_VOLUME_CLAIM, dataVolume.metadata, options)
  return claim !== undefined && !isTerminating(claim) && isChildOf(claim, dataVolume)
}

/**
 * Deletes it once more, in the background: that takes off the finalizer by which the garbage collector waits for what belongs to it. Somebody
 * may have given it a dependent that never goes.
 */
export async function stopWaitingForDependents(
  client: KubeClient,
  { metadata }: KubeObject,
  options: RequestOptions,
): Promise<void> {
  try {
    await client.delete(DATA_VOLUME, metadata, { ...options, propagationPolicy: 'Background', uid: metadata.uid })
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error
  }
}
