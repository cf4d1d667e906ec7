import { imageOwner, LABELS } from '@open-terrain/constructs'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { controllerOf, isControlledBy, type KubeObject, type ResourceType } from '../../kube/kube-object.ts'
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
 * download of what is there. Where it lost its owner meanwhile, it gets it back. Undefined: it is gone, or somebody else's now.
 */
export async function lookForLost(
  client: KubeClient,
  image: ImageView,
  { kind, name, uid }: Loss,
  signal: AbortSignal,
): Promise<{ type: ResourceType; object: KubeObject } | undefined> {
  const { namespace = '' } = image.metadata
  const type = TYPES[kind]
  try {
    const object = await client.get(type, { namespace, name }, { signal })
    const isIt = uid === undefined ? isOurs(object, image) : object.metadata.uid === uid
    if (!isIt) return undefined
    // A claim belongs to its DataVolume.
    if (kind === 'PersistentVolumeClaim' || isControlledBy(object, image.metadata.uid)) return { type, object }
    if (controllerOf(object) !== undefined) return undefined
    return { type, object: await takeBack(client, type, object, image, signal) }
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Somebody took the owner off: without it, the caches do not know whose child it is, and nobody deletes it with the image. */
function takeBack(
  client: KubeClient,
  type: ResourceType,
  { metadata }: KubeObject,
  image: ImageView,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { namespace = '', name, resourceVersion, ownerReferences = [] } = metadata
  const { name: imageName, uid = '' } = image.metadata
  const owners = [...ownerReferences, imageOwner({ name: imageName, uid })]
  return client.mergePatch(
    type,
    { namespace, name },
    { metadata: { resourceVersion, ownerReferences: owners } },
    { signal },
  )
}

function isOurs(object: KubeObject, { metadata }: ImageView): boolean {
  return isControlledBy(object, metadata.uid) || object.metadata.labels?.[LABELS.imageUid] === metadata.uid
}
