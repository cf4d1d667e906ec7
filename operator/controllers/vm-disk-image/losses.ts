import { LABELS } from '@open-terrain/constructs'
import { isChildOf } from '../../cluster/ownership.ts'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import type { Loss } from './image-plan.ts'
import type { ImageView } from './views.ts'

const TYPES: Readonly<Record<Loss['kind'], ResourceType>> = {
  DataVolume: DATA_VOLUME,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  VolumeSnapshot: VOLUME_SNAPSHOT,
}

/**
 * Looks live for a child that the caches do not have though the status knows it: the watch of one kind may be behind that of
 * another, above all when a process has just taken over, and believing it would mean a failure that was none, or a
 * download of what is there. Undefined: it is gone.
 */
export async function lookForLost(
  client: KubeClient,
  image: ImageView,
  { kind, name, uid }: Loss,
  signal: AbortSignal,
): Promise<{ type: ResourceType; object: KubeObject } | undefined> {
  const { namespace = '' } = image.metadata
  const type = TYPES[kind]
  const object = await find(client, type, { namespace, name }, { signal })
  if (object === undefined) return undefined
  const isIt = uid === undefined || object.metadata.uid === uid
  return isIt && isOurs(kind, object, image) ? { type, object } : undefined
}

/** One whose owner somebody took off is not ours any more, as in the caches. A claim belongs to its DataVolume, which may be gone. */
function isOurs(kind: Loss['kind'], object: KubeObject, image: ImageView): boolean {
  if (kind !== 'PersistentVolumeClaim') return isChildOf(object, image)
  return object.metadata.labels?.[LABELS.imageUid] === image.metadata.uid
}
