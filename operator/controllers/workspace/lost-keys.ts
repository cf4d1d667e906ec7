import { generatedKeysOf } from '@open-terrain/constructs/operator'
import { find } from '../../kube/find.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'
import type { Readable, Stored } from '../../runtime/store.ts'
import type { SecretKeys } from './world.ts'

interface LostKeysOptions extends LiveReadLoopOptions {
  /** Their metadata alone, with versions. */
  readonly secrets: Readable<Stored>
}

/** A version that is not read yet has lost nothing, as most follow from a write of the operator. */
const NOT_READ: SecretKeys = { has: [], lacks: [], marked: [] }

/**
 * Reads the Secrets whose values the operator makes, by name, each once for every version of it, and looks which of the keys that are asked for they have.
 * Only names of these keys are kept: never a value.
 */
export class LostKeys extends LiveReadLoop {
  /** By the metadata in the cache, which is another object for every version. */
  readonly #read = new WeakMap<Stored, SecretKeys>()
  /** The keys to look for in a version. */
  readonly #asked = new WeakMap<Stored, readonly string[]>()
  /** Versions that followed one which had all its keys. */
  readonly #followed = new WeakSet<Stored>()
  readonly #secrets: Readable<Stored>

  constructor(options: LostKeysOptions) {
    const { client, secrets, onChange } = options
    super(options, 'workspace-secrets', async (key, signal) => {
      const known = secrets.get(key)
      const asked = known && this.#asked.get(known)
      if (known === undefined || asked === undefined || covers(this.#read.get(known), asked)) return undefined
      const found = await find(client, SECRET, known.metadata, { signal })
      // The watch reports what is gone.
      if (found === undefined || found.metadata.uid !== known.metadata.uid) return undefined
      const keys = keysIn(found, asked)
      const now = secrets.get(key)
      // A newer answer counts for the version that was asked about, or else somebody who writes again and again would never be caught up with.
      this.#read.set(known, keys)
      if (now !== undefined && now.metadata.resourceVersion === found.metadata.resourceVersion)
        this.#read.set(now, keys)
      onChange(namespaceOf(key))
      return undefined
    })
    this.#secrets = secrets
  }

  /** Notes which versions follow each other. Returns a function that stops this. */
  listen(): () => void {
    return this.#secrets.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) return
      if (this.#hasAll(before)) this.#followed.add(after)
    })
  }

  #hasAll(version: Stored): boolean {
    const read = this.#read.get(version)
    return read === undefined ? this.#followed.has(version) : read.lacks.length === 0
  }

  /** Returns which of these keys the Secret has, as far as this version of it has been read, which it is soon. Undefined: nothing is known of it. */
  of(secret: KubeObject, asked: readonly string[]): SecretKeys | undefined {
    const read = this.#read.get(secret)
    if (!covers(read, asked)) {
      this.#asked.set(secret, asked)
      this.readAfter(keyOf(secret.metadata), 0)
    }
    return read ?? (this.#followed.has(secret) ? NOT_READ : undefined)
  }
}

/** A spec may ask for more keys than it did when the Secret was read. */
function covers(read: SecretKeys | undefined, asked: readonly string[]): boolean {
  return read !== undefined && asked.every((key) => read.has.includes(key) || read.lacks.includes(key))
}

function keysIn(secret: KubeObject & { readonly data?: object }, asked: readonly string[]): SecretKeys {
  const { data = {}, metadata } = secret
  const marked = new Set(generatedKeysOf(metadata.annotations).map(({ key }) => key))
  return {
    has: asked.filter((key) => Object.hasOwn(data, key)),
    lacks: asked.filter((key) => !Object.hasOwn(data, key)),
    marked: asked.filter((key) => marked.has(key)),
  }
}
