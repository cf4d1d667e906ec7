import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiServer, addressOf, type Cluster, type Manifest, type ObjectAddress, RefusedError } from './api-server.ts'
import { differs, type ProviderConfig, replacedBy, restrict } from './changes.ts'
import { annotationsOf, goesUnawaited, missingOf } from './readiness.ts'

/** The state that Pulumi keeps of a resource: the object, the inputs of the program, and its field manager. */
interface State extends Manifest {
  readonly __inputs: Manifest
  readonly __fieldManager: string
}

export interface Diff {
  readonly changes: boolean
  readonly replaces: readonly string[]
}

/** The object exists, but is not ready. */
export class NotReadyError extends Error {
  readonly id: string
  readonly state: Manifest

  constructor(id: string, state: Manifest, missing: string, seconds: number) {
    super(`${state.kind} ${id} lacks after ${seconds} s: ${missing}`)
    this.name = 'NotReadyError'
    this.id = id
    this.state = state
  }
}

const POLL_MS = 200
/** Timeouts of the real provider, for resources without their own. */
const READY_WITHIN_S = 600
const GONE_WITHIN_S = 300
/** Placeholder for a value that is known only after an update. */
const UNKNOWN = '04da6b54-80e4-46f7-96ec-b56ff0331ba9'

/**
 * Stand-in for the Kubernetes provider of Pulumi where that is missing, as far as the programs of this repository can see a difference: server-side
 * apply, previews by dry run, replacements, foreground deletion, and waiting. It generates no names and does not support Helm.
 */
export class StandIn {
  readonly #api: ApiServer
  readonly #config: ProviderConfig
  readonly #cancelled: AbortSignal

  /** @param cancelled ends all waiting */
  constructor(cluster: Cluster, cancelled: AbortSignal, config: ProviderConfig) {
    this.#cancelled = cancelled
    this.#api = new ApiServer(cluster)
    this.#config = config
  }

  /** Describes why inputs are not a valid object. */
  check(inputs: Manifest): string | undefined {
    if (typeof inputs.apiVersion !== 'string' || typeof inputs.kind !== 'string') {
      return 'apiVersion and kind are missing: the stand-in provider has plain objects alone'
    }
    if (typeof inputs.metadata?.name !== 'string')
      return 'metadata.name is missing: the stand-in provider makes up none'
    return undefined
  }

  async diff(state: State, inputs: Manifest): Promise<Diff> {
    const before = state.__inputs
    const replaces = replacedBy(before, inputs, this.#config)
    if (replaces.length > 0) return { changes: true, replaces }
    const after = await this.#preview(inputs, state.__fieldManager, state)
    return { changes: differs(state, after, [before, inputs]), replaces }
  }

  async create(inputs: Manifest, { preview = false, timeoutS = 0 } = {}): Promise<{ id: string; state: State }> {
    const fieldManager = `pulumi-kubernetes-${randomBytes(4).toString('hex')}`
    const id = idOf(inputs)
    if (preview) return { id, state: stateOf(await this.#preview(inputs, fieldManager), inputs, fieldManager) }
    if (!this.#config.upsertExistingObjects && (await this.#api.read(addressOf(inputs))) !== undefined)
      throw new Error(`${describe(addressOf(inputs))} exists already, and upsertExistingObjects is not set`)
    const live = await this.#api.apply(inputs, { fieldManager, force: this.#forces(inputs), dryRun: false })
    return { id, state: await this.#wait(live, inputs, fieldManager, timeoutS) }
  }

  async update(state: State, inputs: Manifest, { preview = false, timeoutS = 0 } = {}): Promise<State> {
    const fieldManager = state.__fieldManager
    if (preview) return stateOf(await this.#preview(inputs, fieldManager, state), inputs, fieldManager)
    const live = await this.#change(inputs, fieldManager, false)
    return await this.#wait(live, inputs, fieldManager, timeoutS)
  }

  /** Returns the object as it is now, and the inputs that would have led to it. Undefined if it is gone. */
  async read(state: State): Promise<{ state: State; inputs: Manifest } | undefined> {
    const live = await this.#api.read(addressOf(state.__inputs))
    if (live === undefined) return undefined
    const inputs = restrict(live, state.__inputs) as Manifest
    return { state: stateOf(live, inputs, state.__fieldManager), inputs }
  }

  /** Resolves when the object, and all that it owns, is gone. */
  async delete(state: State, timeoutS = 0): Promise<void> {
    const address = addressOf(state.__inputs)
    const policy = annotationsOf(state.__inputs)['pulumi.com/deletionPropagationPolicy'] ?? 'foreground'
    await this.#api.delete(address, policy.charAt(0).toUpperCase() + policy.slice(1))
    if (goesUnawaited(state.__inputs)) return
    const seconds = timeoutS || GONE_WITHIN_S
    const end = performance.now() + seconds * 1_000
    while ((await this.#api.read(address)) !== undefined) {
      if (performance.now() > end) throw new Error(`${describe(address)} is not gone after ${seconds} s`)
      await sleep(POLL_MS, undefined, { signal: this.#cancelled })
    }
  }

  /** Replaces CustomResourceDefinitions, including fields of other owners. Applies everything else. */
  async #change(inputs: Manifest, fieldManager: string, dryRun: boolean): Promise<Manifest> {
    const options = { fieldManager, force: this.#forces(inputs), dryRun }
    const isDefinition = inputs.kind === 'CustomResourceDefinition'
    return isDefinition ? await this.#api.replace(inputs, options) : await this.#api.apply(inputs, options)
  }

  #forces(inputs: Manifest): boolean {
    const asked = annotationsOf(inputs)['pulumi.com/patchForce']
    return asked === undefined ? this.#config.enablePatchForce : asked === 'true'
  }

  async #wait(applied: Manifest, inputs: Manifest, fieldManager: string, timeoutS: number): Promise<State> {
    const seconds = timeoutS || READY_WITHIN_S
    const end = performance.now() + seconds * 1_000
    let live = applied
    for (let missing = missingOf(live); missing !== undefined; missing = missingOf(live)) {
      const state = stateOf(live, inputs, fieldManager)
      if (performance.now() > end) throw new NotReadyError(idOf(inputs), state, missing, seconds)
      await sleep(POLL_MS, undefined, { signal: this.#cancelled })
      const next = await this.#api.read(addressOf(inputs))
      if (next === undefined) throw new Error(`${describe(addressOf(inputs))} was deleted while it was awaited`)
      live = next
    }
    return stateOf(live, inputs, fieldManager)
  }

  /** Returns the object as the API server would store it, or the inputs if its kind or namespace does not exist yet. */
  async #preview(inputs: Manifest, fieldManager: string, state?: State): Promise<Manifest> {
    if (JSON.stringify(inputs).includes(UNKNOWN)) return inputs
    try {
      if (state !== undefined) return await this.#change(inputs, fieldManager, true)
      return await this.#api.apply(inputs, { fieldManager, force: true, dryRun: true })
    } catch (error) {
      if (error instanceof RefusedError && error.status === 404) return inputs
      throw error
    }
  }
}

/** `<namespace>/<name>`, or the name alone. */
function idOf({ metadata: { name, namespace } }: Manifest): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

function stateOf(live: Manifest, inputs: Manifest, fieldManager: string): State {
  const { managedFields: _, ...metadata } = live.metadata
  return { ...live, metadata, __inputs: inputs, __fieldManager: fieldManager }
}

function describe({ kind, namespace, name }: ObjectAddress): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}
