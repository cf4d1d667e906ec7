import type { Selection } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'
import { bounded, KEPT_MAX } from './foreign.ts'
import { Reflector } from './reflector.ts'
import { stopAll } from './stops.ts'
import { Store, type Stored } from './store.ts'

export interface ReflectorsOptions extends Basics {
  /** A copy had to be listed again. */
  readonly onRelist: (copy: Pick<Kept, 'name'>) => void
}

/** A copy of the objects of a kind. */
export interface Kept {
  readonly type: ResourceType
  /** For metrics: no two copies have the same. */
  readonly name: string
  /** Which objects; empty for all. */
  readonly selection: Selection
  readonly store: Store<Stored>
  /** Empty until somebody needs it. */
  readonly onDemand: boolean
  /** How long the API server has told nothing of the kind; 0 where nobody needs it yet. */
  readonly silentMs: () => number
}

/**
 * Every kind that this process keeps a copy of, each one once, whichever controllers read it. The copies are kept up to date by every
 * replica, leading or not.
 */
export class Reflectors {
  readonly #options: ReflectorsOptions
  readonly #reflectors = new Map<ResourceType, Reflector<Stored>>()
  readonly #kept: Kept[] = []
  readonly #definitions = new Store<Stored>()
  /** Kinds that are read on demand, until somebody needs them. */
  readonly #unneeded = new Map<ResourceType, PromiseWithResolvers<void>>()

  constructor(options: ReflectorsOptions) {
    this.#options = options
    this.add(CUSTOM_RESOURCE_DEFINITION, this.#definitions, nameOnly, { metadataOnly: true })
    // A kind that was just installed is served a moment later; looking at once, and again on its next event, finds it.
    this.#definitions.onChange(({ key }) => {
      for (const reflector of this.#reflectors.values())
        if (key === definitionOf(reflector.type) && reflector.installed !== true) reflector.poke()
    })
  }

  /**
   * Lets `store` hold what `project` keeps of each object of a kind, and no more of any than `keptMax` characters. To be called before
   * `run`, once for each type; a second copy of a kind, of other objects, has a type object and a name of its own. One that is read `onDemand` stays empty, and
   * costs no request, until {@link need} is called.
   */
  add<T extends Stored>(
    type: ResourceType,
    store: Store<T>,
    project: (object: KubeObject) => T,
    options: Selection & { readonly keptMax?: number; readonly name?: string; readonly onDemand?: boolean } = {},
  ): void {
    const { keptMax = KEPT_MAX, name = nameOf(type), onDemand = false, ...selection } = options
    const { onRelist, ...basics } = this.#options
    const reflector = new Reflector<T>({
      ...basics,
      type,
      store,
      project: (object) => bounded(project(object), keptMax),
      selection,
      onRelist: () => onRelist({ name }),
    }) as unknown as Reflector<Stored>
    this.#reflectors.set(type, reflector)
    if (onDemand) this.#unneeded.set(type, Promise.withResolvers())
    const silentMs = () => (this.#unneeded.has(type) ? 0 : reflector.silentMs)
    this.#kept.push({ type, name, selection, store: reflector.store, onDemand, silentMs })
  }

  /** All copies, by kind. */
  get kept(): readonly Kept[] {
    return this.#kept
  }

  /** Keeps all copies up to date until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    signal.addEventListener('abort', () => this.need([...this.#reflectors.keys()]), { once: true })
    await Promise.all(
      Array.from(this.#reflectors, async ([type, reflector]) => {
        await this.#unneeded.get(type)?.promise
        await reflector.run(signal)
      }),
    )
  }

  /** From now on the copies of these kinds are kept up to date. */
  need(types: readonly ResourceType[]): void {
    for (const type of types) {
      this.#unneeded.get(type)?.resolve()
      this.#unneeded.delete(type)
    }
  }

  /** Whether the copies of these kinds are complete. {@link onInstalled} tells when they are. */
  areComplete(types: readonly ResourceType[]): boolean {
    return types.every((type) => this.#reflectors.get(type)?.installed !== undefined)
  }

  /** Resolves when all copies that are needed are complete. */
  async synced(): Promise<void> {
    const needed = () => [...this.#reflectors].filter(([type]) => !this.#unneeded.has(type))
    // What is in the first ones may need others.
    for (let before = 0; before < needed().length; ) {
      before = needed().length
      await Promise.all(needed().map(([_type, reflector]) => reflector.synced))
    }
  }

  /** Whether the API server serves a kind; false for one that nobody added. */
  isInstalled(type: ResourceType): boolean {
    return this.#reflectors.get(type)?.installed === true
  }

  /** Calls back whenever a kind came or went, or its copy is complete for the first time; returns how to stop that. */
  onInstalled(listener: () => void): () => void {
    return stopAll(Array.from(this.#reflectors.values(), (reflector) => reflector.onInstalled(listener)))
  }

  /** Lists kinds once more, live: their watches may be behind. Throws ApiErrors. */
  async refresh(types: readonly ResourceType[], signal: AbortSignal): Promise<void> {
    await Promise.all(types.map((type) => this.#reflectors.get(type)?.refresh(signal)))
  }

  /** What is kept of an object, by kind and `namespace/name`. */
  readonly get = (type: ResourceType, key: string): KubeObject | undefined => {
    return this.#reflectors.get(type)?.store.get(key) as KubeObject | undefined
  }

  /** Takes in the API server's answer to a write of this process. */
  readonly observeWrite = (type: ResourceType, object: KubeObject): void => {
    this.#reflectors.get(type)?.observeWrite(object)
  }
}

/** KubeVirt's VirtualMachine and ours have the same kind. */
function nameOf({ kind, group }: ResourceType): string {
  return kind.startsWith('VirtualMachine') ? `${kind}.${group}` : kind
}

/** Key of the CustomResourceDefinition of a kind. */
function definitionOf({ plural, group }: ResourceType): string {
  return keyOf({ name: `${plural}.${group}` })
}

function nameOnly({ metadata: { name, uid, resourceVersion } }: KubeObject): Stored {
  return { metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } }
}
