import { type Clock, sleep } from '../../operator/base/clock.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeClient, Selection, WatchEvent } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import { listPages } from '../../operator/kube/list-all.ts'
import { timedWatch } from '../../operator/runtime/timed-watch.ts'

/** Least time between two watches: a server may end each one at once, or know no version of the last list any more. */
const HASTY_MS = 1_000
/** How long to wait after an answer that may be better next time. */
const RETRY_MS = 2_000

export interface Followed<T> {
  readonly client: KubeClient
  readonly clock: Clock
  readonly type: ResourceType
  readonly selection?: Selection
  /** Returns what to keep of an object. */
  readonly project: (object: KubeObject) => T
  /** Called with all objects, by key, once they are listed, and again after each change. The map is the same one each time. */
  readonly onChange: (objects: ReadonlyMap<string, T>) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

/**
 * Lists objects, and follows their changes by a watch, until it is aborted. A connection that breaks, or is silent for a minute, is made again. Throws ApiError where that cannot
 * help: a right is missing, or the first list has failed.
 */
export async function follow<T>(followed: Followed<T>): Promise<void> {
  const { clock, signal } = followed
  const mirror = new Mirrored(followed)
  while (!signal.aborted) {
    const beganAt = clock.monotonic()
    try {
      await mirror.run()
    } catch (error) {
      if (signal.aborted) return
      if (isApiError(error, 'Expired')) mirror.forget()
      else if (mirror.isListed && isApiError(error, 'NoAnswer', 'Unavailable'))
        await sleep(clock, RETRY_MS, signal).catch(() => undefined)
      else throw error
    }
    const early = HASTY_MS - (clock.monotonic() - beganAt)
    if (early > 0) await sleep(clock, early, signal).catch(() => undefined)
  }
}

/** All objects, as far as they were seen. */
class Mirrored<T> {
  readonly #followed: Followed<T>
  readonly #objects = new Map<string, T>()
  /** Up to which version everything is known. */
  #version: string | undefined
  isListed = false

  constructor(followed: Followed<T>) {
    this.#followed = followed
  }

  /** Everything is to be listed again. */
  forget(): void {
    this.#version = undefined
  }

  /** Returns when the API server ends the watch. Throws ApiError. */
  async run(): Promise<void> {
    const { client, clock, type, selection, signal, onChange } = this.#followed
    const resourceVersion = this.#version ?? (await this.#list())
    const options = { client, clock, random: Math.random, type, ...(selection !== undefined && { selection }) }
    // It ends by itself where a connection has died without a word.
    for await (const event of timedWatch(options, resourceVersion, signal)) {
      if (event.type === 'BOOKMARK') {
        this.#version = event.resourceVersion
        continue
      }
      this.#take(event)
      onChange(this.#objects)
    }
  }

  async #list(): Promise<string> {
    const { client, type, selection, signal, project, onChange } = this.#followed
    const listing = { ...selection, signal, project: keyed(project) }
    const listed = new Map<string, T>()
    let version = ''
    for await (const { items, resourceVersion } of listPages(client, type, listing)) {
      for (const [key, kept] of items) listed.set(key, kept)
      version = resourceVersion
    }
    this.#objects.clear()
    for (const [key, kept] of listed) this.#objects.set(key, kept)
    this.#version = version
    this.isListed = true
    onChange(this.#objects)
    return version
  }

  #take({ type, object }: Extract<WatchEvent<KubeObject>, { readonly object: KubeObject }>): void {
    const key = keyOf(object.metadata)
    this.#version = object.metadata.resourceVersion ?? this.#version
    if (type === 'DELETED') this.#objects.delete(key)
    else this.#objects.set(key, this.#followed.project(object))
  }
}

function keyed<T>(project: (object: KubeObject) => T) {
  return (object: KubeObject) => [keyOf(object.metadata), project(object)] as const
}
