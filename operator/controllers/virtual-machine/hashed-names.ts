import { LABELS } from '@open-terrain/constructs'
import { dataSync, withoutHash } from '@open-terrain/constructs/operator'
import type { ImageView } from '../../images/image-view.ts'
import type { Readable } from '../../runtime/store.ts'

/**
 * Finds the images of DataSyncs whose names have a hash by the same names without it, which people write who know what the three parts are. Is told of all
 * images, since it is made before the first one is read.
 */
export class HashedNames {
  /** By `<namespace>/<name>` without the hash: mostly one. */
  readonly #names = new Map<string, ReadonlySet<string>>()

  constructor(images: Readable<ImageView>) {
    images.onChange(({ key, after }) => {
      const shorter = withoutHash(key)
      if (shorter === undefined) return
      const others = [...(this.#names.get(shorter) ?? [])].filter((one) => one !== key)
      const names = isOfDataSync(after) ? [...others, key] : others
      if (names.length === 0) this.#names.delete(shorter)
      else this.#names.set(shorter, new Set(names))
    })
  }

  /** Returns the `<namespace>/<name>` of an image that is called so, but for a hash; undefined if there is none, or a choice. */
  only(shorter: string): string | undefined {
    const [name, ...others] = this.#names.get(shorter) ?? []
    return others.length === 0 ? name : undefined
  }
}

function isOfDataSync(image: ImageView | undefined): boolean {
  return image?.metadata.labels?.[LABELS.createdBy] === dataSync.kind
}

/** Returns the key without the hash of an image whose coming or going others are told of; undefined if nobody is. */
export function shorterNameOf(key: string, before: ImageView | undefined, after: ImageView | undefined) {
  return isOfDataSync(before) === isOfDataSync(after) ? undefined : withoutHash(key)
}
