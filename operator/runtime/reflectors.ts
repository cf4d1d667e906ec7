import type { Selection } from '../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'
import { CacheBudget } from './cache-budget.ts'
import { bounded, KEPT_MAX } from './foreign.ts'
import { Reflector } from './reflector.ts'
import { stopAll } from './stops.ts'
import { type Readable, Store, type Stored } from './store.ts'

export interface ReflectorsOptions extends Basics {
  readonly onRelist: (copy: Pick<Kept, 'name'>) => void
  /** For the large parts of objects. Default: without a limit. */
  readonly budget?: CacheBudget
}

/** A copy of the objects of a kind. */
export interface Kept {
  readonly type: ResourceType
  /** Name in metrics. No two copies have the same. */
  readonly name: string
  /** Which objects it holds. Empty for all. */
  readonly selection: Selection
  readonly store: Store<Stored>
  /** Empty until {@link Reflectors.need} is called. */
  readonly onDemand: boolean
  /** Milliseconds since the API server last sent anything for the kind; 0 if the copy is not needed yet. */
  readonly silentMs: () => number
}

/** A copy of every kind that this process reads, shared by all controllers. Every replica keeps the copies up to date, whether it leads or not. */
export class Reflectors {
  /** Shared by all caches. */
  readonly budget: CacheBudget
  readonly #options: ReflectorsOptions
  readonly #reflectors = new Map<ResourceType, Reflector<Stored>>()
  readonly #kept: Kept[] = []
  readonly #definitions = new Store<Stored>()
  /** On-demand kinds that are not needed yet. */
  readonly #unneeded = new Map<ResourceType, PromiseWithResolvers<void>>()

  constructor(options: ReflectorsOptions) {
    this.#options = options
    this.budget = options.budget ?? new CacheBudget()
    this.add(CUSTOM_RESOURCE_DEFINITION, this.#definitions, nameOnly, { metadataOnly: true })
    // A kind that was just installed is served a moment later. A retry at once, and another one on the next event, finds it.
    this.#definitions.onChange(({ key }) => {
      for (const [{ plural, group }, reflector] of this.#reflectors)
        if (key === `${plural}.${group}` && reflector.installed !== true) reflector.poke()
    })
  }

  /**
   * Fills `store` with what `project` keeps of each object of a kind, at most `keptMax` characters: as it is if the projection limits that
   * itself. Must be called before `run`, once per type.
   * A second copy of a kind, for other objects, needs its own type object and name. An `onDemand` copy sends no requests until {@link need}.
   */
  add<T extends Stored>(
    type: ResourceType,
    store: Store<T>,
    project: (object: KubeObject) => T,
    options: Selection & {
      readonly keptMax?: number | 'as projected'
      readonly name?: string
      readonly onDemand?: boolean
    } = {},
  ): void {
    const { keptMax = KEPT_MAX, name = nameOf(type), onDemand = false, ...selection } = options
    const { onRelist, budget: _shared, ...basics } = this.#options
    const reflector = new Reflector<T>({
      ...basics,
      type,
      store,
      project: keptMax === 'as projected' ? project : (object) => bounded(project(object), keptMax),
      selection,
      onRelist: () => onRelist({ name }),
    }) as unknown as Reflector<Stored>
    this.#reflectors.set(type, reflector)
    if (onDemand) this.#unneeded.set(type, Promise.withResolvers())
    this.#kept.push({ type, name, selection, store: reflector.store, onDemand, silentMs: () => reflector.silentMs })
  }

  /** The CustomResourceDefinitions of the cluster: names and versions. */
  get definitions(): Readable<Stored> {
    return this.#definitions
  }

  get kept(): readonly Kept[] {
    return this.#kept
  }

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

  /** Starts to keep the copies of these kinds up to date. */
  need(types: readonly ResourceType[]): void {
    for (const type of types) {
      this.#unneeded.get(type)?.resolve()
      this.#unneeded.delete(type)
    }
  }

  /** Reports whether the copies of these kinds are complete. {@link onInstalled} notifies when they become complete. */
  areComplete(types: readonly ResourceType[]): boolean {
    return types.every((type) => this.#reflectors.get(type)?.installed !== undefined)
  }

  /** Resolves when all needed copies are complete. */
  async synced(): Promise<void> {
    const needed = () => [...this.#reflectors].filter(([type]) => !this.#unneeded.has(type))
    // Objects in the first ones may cause others to be needed.
    for (let before = 0; before < needed().length; ) {
      before = needed().length
      await Promise.all(needed().map(([_type, reflector]) => reflector.synced))
    }
  }

  /** Reports whether the API server serves a kind. False for a kind that was not added. */
  isInstalled(type: ResourceType): boolean {
    return this.#reflectors.get(type)?.installed === true
  }

  /** Calls `listener` when a kind is installed or removed, or its copy is first complete. Returns a function that stops the calls. */
  onInstalled(listener: () => void): () => void {
    return stopAll(Array.from(this.#reflectors.values(), (reflector) => reflector.onInstalled(listener)))
  }

  /** Lists kinds again, live, because their watches may be behind. Throws ApiErrors. */
  async refresh(types: readonly ResourceType[], signal: AbortSignal): Promise<void> {
    await Promise.all(types.map((type) => this.#reflectors.get(type)?.refresh(signal)))
  }

  /** Returns what is kept of an object, by kind and `namespace/name`. */
  readonly get = (type: ResourceType, key: string): KubeObject | undefined => {
    return this.#reflectors.get(type)?.store.get(key) as KubeObject | undefined
  }

  /** Adds the API server's response to a write of this process. */
  readonly observeWrite = (type: ResourceType, object: KubeObject): void => {
    this.#reflectors.get(type)?.observeWrite(object)
  }
}

/** KubeVirt's VirtualMachine and ours have the same kind. */
function nameOf({ kind, group }: ResourceType): string {
  return kind.startsWith('VirtualMachine') ? `${kind}.${group}` : kind
}

function nameOnly({ metadata: { name, uid, resourceVersion } }: KubeObject): Stored {
  return { metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } }
}
