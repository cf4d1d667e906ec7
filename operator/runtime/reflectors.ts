import type { Selection } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'
import { bounded, KEPT_MAX } from './foreign.ts'
import { Reflector } from './reflector.ts'
import { stopAll } from './stops.ts'
import { Store, type Stored } from './store.ts'

export interface ReflectorsOptions extends Basics {
  /** A kind had to be listed again. */
  readonly onRelist: (type: ResourceType) => void
}

/** A copy of the objects of a kind. */
export interface Kept {
  readonly type: ResourceType
  /** Which objects; empty for all. */
  readonly selection: Selection
  readonly store: Store<Stored>
}

/**
 * Every kind that this process keeps a copy of, each one once, whichever controllers read it. The copies are kept up to date by every
 * replica, leading or not.
 */
export class Reflectors {
  readonly #options: ReflectorsOptions
  readonly #all: Reflector<Stored>[] = []
  readonly #kept: Kept[] = []
  readonly #definitions = new Store<Stored>()

  constructor(options: ReflectorsOptions) {
    this.#options = options
    this.add(CUSTOM_RESOURCE_DEFINITION, this.#definitions, nameOnly, { metadataOnly: true })
    // A kind that was just installed is served a moment later; looking at once, and again on its next event, finds it.
    this.#definitions.onChange(({ key }) => {
      for (const reflector of this.#all)
        if (key === definitionOf(reflector.type) && reflector.installed !== true) reflector.poke()
    })
  }

  /**
   * Lets `store` hold what `project` keeps of each object of a kind, and no more of any than `keptMax` characters. To be called before
   * `run`, once for each kind.
   */
  add<T extends Stored>(
    type: ResourceType,
    store: Store<T>,
    project: (object: KubeObject) => T,
    { keptMax = KEPT_MAX, ...selection }: Selection & { readonly keptMax?: number } = {},
  ): void {
    const { onRelist, ...options } = this.#options
    const reflector = new Reflector<T>({
      ...options,
      type,
      store,
      project: (object) => bounded(project(object), keptMax),
      selection,
      onRelist: () => onRelist(type),
    })
    this.#all.push(reflector as unknown as Reflector<Stored>)
    this.#kept.push({ type, selection, store: store as unknown as Store<Stored> })
  }

  /** All copies, by kind. */
  get kept(): readonly Kept[] {
    return this.#kept
  }

  /** Keeps all copies up to date until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.run(signal)))
  }

  /** Resolves when all copies are complete. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((reflector) => reflector.synced))
  }

  /** Whether the API server serves a kind; false for one that nobody added. */
  isInstalled(type: ResourceType): boolean {
    return this.#of(type)?.installed === true
  }

  /** Calls back whenever a kind came or went; returns how to stop that. */
  onInstalled(listener: () => void): () => void {
    const stops = this.#all.map((reflector) => reflector.onInstalled(listener))
    return stopAll(stops)
  }

  /** Lists kinds once more, live: their watches may be behind. Throws ApiErrors. */
  async refresh(types: readonly ResourceType[], signal: AbortSignal): Promise<void> {
    await Promise.all(types.map((type) => this.#of(type)?.refresh(signal)))
  }

  /** What is kept of an object, by kind and `namespace/name`. */
  readonly get = (type: ResourceType, key: string): KubeObject | undefined => {
    return this.#of(type)?.store.get(key) as KubeObject | undefined
  }

  /** Takes in the API server's answer to a write of ours. */
  readonly observeWrite = (type: ResourceType, object: KubeObject): void => {
    this.#of(type)?.observeWrite(object)
  }

  #of(type: ResourceType): Reflector<Stored> | undefined {
    return this.#all.find((reflector) => reflector.type === type)
  }
}

/** Key of the CustomResourceDefinition of a kind. */
function definitionOf({ plural, group }: ResourceType): string {
  return keyOf({ name: `${plural}.${group}` })
}

function nameOnly({ metadata: { name, uid, resourceVersion } }: KubeObject): Stored {
  return { metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } }
}
