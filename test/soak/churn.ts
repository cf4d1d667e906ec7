import { setTimeout as sleep } from 'node:timers/promises'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { keyOf, type ObjectKey } from '../../operator/kube/kube-object.ts'
import type { Stage } from '../bench/stage.ts'
import { ignoreNotFound } from '../harness/grounds.ts'

/** The most images that exist at once. */
const MOST_IMAGES = 60
const MOST_SLOTS = 8
const EVERY_MS = 400
/** DataVolumes with this name prefix always fail (see the simulators' plan). */
export const BROKEN = 'broken'
const BROKEN_SHARE = 0.1

/** Actions of people and pipelines. */
export interface ChurnCounts {
  created: number
  refreshed: number
  suspended: number
  deleted: number
  policies: number
  /** Requests that the API server refused or, while it was down, did not answer. They are not retried. */
  refused: number
}

/** Creates, refreshes, suspends and deletes images and changes the policy, at random, from a seed. */
export class Churn {
  readonly counts: ChurnCounts = { created: 0, refreshed: 0, suspended: 0, deleted: 0, policies: 0, refused: 0 }
  readonly #stage: Stage
  readonly #random: () => number
  readonly #images = new Map<string, ObjectKey>()
  #named = 0
  #isPaused = false

  constructor(stage: Stage, random: () => number) {
    this.#stage = stage
    this.#random = random
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  /** Goes on until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(EVERY_MS * (0.5 + this.#random()), undefined, { signal }).catch(() => undefined)
      if (signal.aborted || this.#isPaused) continue
      await this.#act().catch((error: unknown) => {
        if (!isApiError(error)) throw error
        this.counts.refused += 1
      })
    }
  }

  /** Lets every image start, and resumes the suspended ones. From here all images reach a final state. */
  async calm(): Promise<void> {
    await this.#stage.setPolicy({ concurrency: String(MOST_SLOTS) })
    for (const key of this.#images.values()) {
      await this.#stage.client.mergePatch(IMAGE, key, { spec: { suspend: null } }).catch(ignoreNotFound)
    }
  }

  async #act(): Promise<void> {
    const dice = this.#random()
    const isFull = this.#images.size >= MOST_IMAGES
    if (this.#images.size === 0 || (dice < 0.45 && !isFull)) return await this.#create()
    if (dice < 0.6) return await this.#refresh(this.#pick())
    if (dice < 0.67) return await this.#toggleSuspend(this.#pick())
    if (dice < 0.75) return await this.#changePolicy()
    return await this.#delete(this.#pick())
  }

  /** Changes an image, which may be gone though the answer to its deletion was lost, or may never have been created. */
  async #patch(key: ObjectKey, patch: object): Promise<void> {
    await this.#known(key, this.#stage.client.mergePatch(IMAGE, key, patch))
  }

  async #known(key: ObjectKey, request: Promise<unknown>): Promise<void> {
    await request.catch((error: unknown) => {
      if (isApiError(error, 'NotFound')) this.#images.delete(keyOf(key))
      throw error
    })
  }

  async #create(): Promise<void> {
    const at = this.#named++
    const prefix = this.#random() < BROKEN_SHARE ? BROKEN : 'image'
    const image = this.#stage.image(`${prefix}-${at}`, at)
    // Noted first: a request without an answer may have been executed.
    this.#images.set(keyOf(image.metadata), image.metadata)
    await this.#stage.client.create(IMAGE, image)
    this.counts.created += 1
  }

  async #refresh(key: ObjectKey): Promise<void> {
    const url = `https://images.example.com/${key.namespace}/${key.name}-${this.#named++}.qcow2`
    await this.#patch(key, { spec: { url } })
    this.counts.refreshed += 1
  }

  async #toggleSuspend(key: ObjectKey): Promise<void> {
    await this.#patch(key, { spec: { suspend: this.#random() < 0.5 } })
    this.counts.suspended += 1
  }

  async #changePolicy(): Promise<void> {
    const concurrency = String(Math.floor(this.#random() * (MOST_SLOTS + 1)))
    await this.#stage.setPolicy({ concurrency })
    this.counts.policies += 1
  }

  async #delete(key: ObjectKey): Promise<void> {
    const { name, namespace } = key
    await this.#known(key, this.#stage.client.delete(IMAGE, { name, ...(namespace && { namespace }) }))
    this.#images.delete(keyOf(key))
    this.counts.deleted += 1
  }

  #pick(): ObjectKey {
    const keys = [...this.#images.values()]
    const key = keys[Math.floor(this.#random() * keys.length)]
    if (key === undefined) throw new TypeError('there is no image to pick')
    return key
  }
}
