import { generatedKeysOf } from '@open-terrain/constructs'
import { find } from '../../kube/find.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { LookLoop, type LookLoopOptions } from '../../runtime/look-loop.ts'
import type { Readable, Stored } from '../../runtime/store.ts'

interface LostKeysOptions extends LookLoopOptions {
  /** Their metadata alone, with versions. */
  readonly secrets: Readable<Stored>
}

/**
 * Reads the Secrets whose values the operator makes, by name, each once for every version of it, and looks which keys they have. Only the names of keys that
 * are not there any more are kept: never a value.
 */
export class LostKeys extends LookLoop {
  /** By the metadata in the cache, which is another object for every version. */
  readonly #lost = new WeakMap<Stored, readonly string[]>()
  /** Versions that followed one that was read. */
  readonly #followed = new WeakSet<Stored>()
  readonly #secrets: Readable<Stored>

  constructor(options: LostKeysOptions) {
    const { client, secrets, onChange } = options
    super(options, 'workspace-secrets', async (key, signal) => {
      const known = secrets.get(key)
      if (known === undefined || this.#lost.has(known)) return undefined
      const found = await find(client, SECRET, known.metadata, { signal })
      // The watch reports what is newer, and what is gone.
      if (found?.metadata.resourceVersion !== known.metadata.resourceVersion) return undefined
      this.#lost.set(known, lostKeysIn(found as KubeObject))
      onChange(namespaceOf(key))
      return undefined
    })
    this.#secrets = secrets
  }

  /** Notes which versions follow each other. Returns a function that stops this. */
  listen(): () => void {
    return this.#secrets.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) return
      if (this.#lost.has(before) || this.#followed.has(before)) this.#followed.add(after)
    })
  }

  /**
   * Returns the keys that were made and are not there any more. A version that has not been read, which it is soon, has lost none: most follow from a write
   * of the operator. Undefined: no version of the Secret has been read.
   */
  of(secret: KubeObject): readonly string[] | undefined {
    const lost = this.#lost.get(secret)
    if (lost === undefined) this.lookAfter(keyOf(secret.metadata), 0)
    return lost ?? (this.#followed.has(secret) ? [] : undefined)
  }
}

/** Returns the keys that a Secret was given a value for, as its annotation says, and that it does not have. */
export function lostKeysIn(secret: KubeObject & { readonly data?: object }): string[] {
  const has = new Set(Object.keys(secret.data ?? {}))
  return generatedKeysOf(secret.metadata.annotations).flatMap(({ key }) => (has.has(key) ? [] : [key]))
}
