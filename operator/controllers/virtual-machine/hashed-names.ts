import { LABELS } from '@open-terrain/constructs'
import { dataSync, withoutHash } from '@open-terrain/constructs/operator'
import type { ImageView } from '../../images/image-view.ts'
import { keyOf } from '../../kube/kube-object.ts'

/**
 * Index over images: `<namespace>/<name>` without the hash of one that a DataSync has made. People who know the three parts of the name write it so.
 */
export const BY_NAME_WITHOUT_HASH = 'name without hash'

/** Returns what an image has in {@link BY_NAME_WITHOUT_HASH}. */
export function namesWithoutHash(image: ImageView): readonly string[] {
  const shorter = isOfDataSync(image) ? withoutHash(keyOf(image.metadata)) : undefined
  return shorter === undefined ? [] : [shorter]
}

function isOfDataSync(image: ImageView | undefined): boolean {
  return image?.metadata.labels?.[LABELS.createdBy] === dataSync.kind
}

/** Returns the key without the hash of an image whose coming or going others are told of; undefined if nobody is. */
export function shorterNameOf(key: string, before: ImageView | undefined, after: ImageView | undefined) {
  return isOfDataSync(before) === isOfDataSync(after) ? undefined : withoutHash(key)
}
