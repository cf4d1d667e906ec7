import { isApiError } from '../../operator/kube/api-error.ts'
import { apiVersionOf, type ObjectKey, type ObjectMeta, type ResourceType } from '../../operator/kube/kube-object.ts'
import { LEASE, NAMESPACE } from '../../operator/kube/resource-types.ts'
import type { World } from './world.ts'

/**
 * The Lease of cdi-controller or virt-controller, in the namespace of its system. As observed on the real ones: it lasts 15 s and is
 * renewed every 2 s. A controller that stops leaves it as it is, and the next one waits until it has expired.
 */
export class ControllerLease {
  readonly #world: World
  readonly #key: ObjectKey
  readonly #renewMs: number
  readonly #isHeld: () => boolean
  #cancel: () => void = () => undefined

  constructor(world: World, key: ObjectKey, renewMs: number, isHeld: () => boolean) {
    this.#world = world
    this.#key = key
    this.#renewMs = renewMs
    this.#isHeld = isHeld
  }

  start(): void {
    if (this.#renewMs === 0) return
    const { clock, signal } = this.#world
    const next = () => {
      if (!signal.aborted) this.#cancel = clock.setTimer(() => this.start(), this.#renewMs)
    }
    if (this.#isHeld()) this.#renew().then(next, next)
    else next()
  }

  stop(): void {
    this.#cancel()
  }

  async #renew(): Promise<void> {
    const { client, clock } = this.#world
    const spec = { holderIdentity: this.#key.name, leaseDurationSeconds: 15, renewTime: timeOf(clock.now()) }
    try {
      await client.mergePatch(LEASE, this.#key, { spec })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      await this.#create(NAMESPACE, { name: this.#key.namespace ?? '' })
      await this.#create(LEASE, this.#key, { spec })
    }
  }

  async #create(type: ResourceType, metadata: ObjectMeta, rest: object = {}): Promise<void> {
    try {
      await this.#world.client.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest })
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
    }
  }
}

/** Formats a time as MicroTime. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
