import { apiVersionOf, type KubeObject, keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import type { Store } from '../../operator/runtime/store.ts'
import { currentIf, type DataSync, type Machine, reasonOf, type Workspace, type WorkspaceSnapshot } from './kinds.ts'
import type { World } from './world.ts'

/** Actions of people on the objects of one kind in a {@link World}, in one namespace if the kind is namespaced, and what they observe. */
export abstract class WorldObjects<T extends DataSync | Machine | Workspace | WorkspaceSnapshot> {
  readonly world: World
  protected readonly namespace: string
  readonly #type: ResourceType
  readonly #store: Store<T>

  /** @param namespace default: that of the images */
  constructor(world: World, type: ResourceType, store: Store<T>, namespace = world.namespace) {
    this.world = world
    this.namespace = namespace
    this.#type = type
    this.#store = store
  }

  /** For the message of a wait that is in vain. */
  protected abstract describe(object: T): string

  get(name: string): T | undefined {
    return this.#store.get(keyOf(this.#keyOf(name)))
  }

  /** Resolves when they are gone. */
  async delete(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.world.client.delete(this.#type, this.#keyOf(name))
    await this.untilGone(...names)
  }

  async untilGone(...names: readonly string[]): Promise<void> {
    await this.untilSeen(`${names} are gone`, () => names.every((name) => this.isGone(name)))
  }

  async untilReason(name: string, reason: string): Promise<T> {
    return await this.until(name, reason, (object) => reasonOf(object) === reason)
  }

  /** Ignores a status that does not reflect the current generation. */
  async until(name: string, what: string, holds: (object: T) => boolean): Promise<T> {
    return await this.untilSeen(`${this.#type.kind} ${name}: ${what}`, () => currentIf(this.get(name), holds))
  }

  protected isGone(name: string): boolean {
    return this.get(name) === undefined
  }

  protected async createObject(name: string, spec: object): Promise<T> {
    const type = this.#type
    const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata: this.#keyOf(name), spec }
    return await this.world.client.create(type, object as KubeObject as T)
  }

  protected async patchObject(name: string, patch: object): Promise<KubeObject> {
    return await this.world.client.mergePatch(this.#type, this.#keyOf(name), patch)
  }

  protected async untilSeen<R>(what: string, probe: () => R | undefined | false): Promise<R> {
    const seen = () => [...[...this.#store.values()].map((one) => this.describe(one)), this.world.describe()].join('\n')
    return await this.world.mirror.until(what, probe, seen)
  }

  #keyOf(name: string) {
    return this.#type.namespaced ? { namespace: this.namespace, name } : { name }
  }
}
