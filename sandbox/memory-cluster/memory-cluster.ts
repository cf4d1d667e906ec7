import type { DeleteOptions, KubeClient, ListOptions, ListPage, WatchEvent } from '../../operator/kube/kube-client.ts'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ResourceType,
} from '../../operator/kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../../operator/kube/resource-types.ts'
import { drawn } from '../drawn.ts'
import { ApiServer } from './api-server.ts'
import { withDefaultClass } from './claim-admission.ts'
import { DeploymentController } from './deployment-controller.ts'
import type { Fate, Passage, RequestInfo, ServerView } from './faults.ts'
import { GarbageCollector } from './garbage-collector.ts'
import { JobController } from './job-controller.ts'
import { frozenCopy } from './json.ts'
import { MemoryClient } from './memory-client.ts'
import type { MemoryWatch } from './memory-watch.ts'
import { NamespaceController } from './namespace-controller.ts'
import { type Commit, ObjectStore } from './object-store.ts'
import { admitPod } from './pod-admission.ts'
import { Quotas } from './quotas.ts'
import { ReplicaSetController } from './replica-set-controller.ts'
import { admitRestore } from './restore-admission.ts'
import { idOf, traitsOf } from './served-types.ts'
import { ServiceAccounts } from './service-accounts.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { admitUnlocked } from './snapshot-lock.ts'
import { Timeline } from './timeline.ts'
import type { Time } from './virtual-time.ts'

const ADMINISTRATOR = 'administrator'
/** Default network delay, one way. */
const HOP_MS = { least: 0.5, spread: 3 }
/** Delay from a change to the reaction of a Kubernetes controller. */
const CONTROLLER_MS = { least: 2, spread: 20 }
/** Delay from a namespace to its default ServiceAccount. */
const ACCOUNT_MS = 1

export interface MemoryClusterOptions {
  readonly time: Time
  /** Returns a number in [0, 1). Seeded if a run must be reproducible. */
  readonly random: () => number
  /** Kinds that are served from the start. */
  readonly types: readonly ResourceType[]
  /** Whether Deployments are rolled out and Jobs are run. Default: true. If false, the test acts as their controllers. */
  readonly rollsOut?: boolean
}

export interface ConnectOptions {
  readonly process: SimulatedProcess
  /** Default: delivered after a few random milliseconds each way. */
  readonly fateOf?: (request: RequestInfo) => Fate
  /** Default: passes after a few random milliseconds. */
  readonly passageOf?: (event: WatchEvent<KubeObject>, request: RequestInfo) => Passage
  /** Called for each watch. Default: an API server that is up to date. */
  readonly viewOf?: (request: RequestInfo) => ServerView | undefined
}

/** Direct access as the administrator: immediate and without faults. Throws the errors of the API server. */
export interface Admin {
  get<T extends KubeObject>(type: ResourceType, key: ObjectKey): T
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): ListPage<T>
  create<T extends KubeObject>(type: ResourceType, object: T): T
  replace<T extends KubeObject>(type: ResourceType, object: T): T
  replaceStatus<T extends KubeObject>(type: ResourceType, object: T): T
  mergePatch<T extends KubeObject>(type: ResourceType, key: ObjectKey, patch: object): T
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): void
}

/**
 * A Kubernetes API server with its admission, garbage collector and controllers, in memory, on the given {@link Time}.
 * The same seed, types and requests produce the same commits. `test/conformance` compares it with a real one.
 */
export class MemoryCluster {
  readonly admin: Admin
  readonly #time: Time
  readonly #random: () => number
  readonly #store = new ObjectStore()
  readonly #server: ApiServer
  readonly #timeline = new Timeline()
  readonly #watches = new Map<SimulatedProcess, Set<MemoryWatch>>()
  readonly #requestListeners: ((request: RequestInfo, code: string) => void)[] = []

  constructor({ time, random, types, rollsOut = true }: MemoryClusterOptions) {
    this.#time = time
    this.#random = random
    const store = this.#store
    store.onCommit(({ revision }) => this.#timeline.note(revision, time.elapsedMs))
    const later = (work: () => void) => void time.schedule(drawn(CONTROLLER_MS, random), work)
    const quotas = new Quotas(store, later)
    const now = () => time.epochMs + time.elapsedMs
    const accounts = new ServiceAccounts(store, now, (work) => void time.schedule(ACCOUNT_MS, work))
    const admit = (type: ResourceType, object: KubeObject) => {
      admitPod(store, accounts, type, object)
      quotas.admit(type, object)
    }
    const complete = (type: ResourceType, object: KubeObject) => withDefaultClass(store, type, object)
    const review = (type: ResourceType, object: KubeObject) => admitRestore(store, type, object)
    const server = new ApiServer({ store, now, review, reviewChange: admitUnlocked, complete, admit })
    this.#server = server
    new GarbageCollector({ store, server, later })
    new NamespaceController({ store, server, later })
    const after = (delayMs: number, work: () => void) => void time.schedule(delayMs, work)
    const timestamp = () => new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z')
    const workloads = { store, server, later, after, random, now, timestamp }
    if (rollsOut) {
      new DeploymentController(workloads)
      new ReplicaSetController(workloads)
      new JobController(workloads)
    }
    this.admin = adminOf(server, ADMINISTRATOR)
    for (const type of types) store.install(type)
    for (const type of types) this.install(type)
  }

  /** The same access as another actor. Commits record this name. */
  doorOf(actor: string): Admin {
    return adminOf(this.#server, actor)
  }

  get revision(): number {
    return this.#store.revision
  }

  connect({ process, fateOf, passageOf, viewOf }: ConnectOptions): KubeClient {
    const watches = this.#watches.get(process) ?? new Set()
    this.#watches.set(process, watches)
    return new MemoryClient({
      time: this.#time,
      store: this.#store,
      server: this.#server,
      process,
      fateOf: fateOf ?? (() => ({ kind: 'deliver', requestMs: this.#hopMs(), answerMs: this.#hopMs() })),
      passageOf: passageOf ?? (() => ({ delayMs: this.#hopMs() })),
      viewOf: viewOf ?? (() => undefined),
      timeline: this.#timeline,
      onAnswer: (request, code) => {
        for (const listener of this.#requestListeners) listener(request, code)
      },
      watches,
    })
  }

  /** Calls `listener` synchronously at each commit, in revision order. The listener must not write. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#store.onCommit(listener)
  }

  /** Calls `listener` when a request was carried out or refused, with the HTTP status of the response, which can still be lost. */
  onRequest(listener: (request: RequestInfo, code: string) => void): void {
    this.#requestListeners.push(listener)
  }

  /** Older resourceVersions and continue tokens then return 410 Expired. Open watches with undelivered events end with it too. */
  compact(): void {
    this.#store.compact()
    for (const watch of this.#openWatches()) watch.expire()
  }

  /** Breaks the connection of every open watch, or of every open watch of an actor. */
  breakWatches(actor?: string): void {
    for (const watch of this.#openWatches(actor)) watch.break()
  }

  /** Serves a kind, and for a custom kind creates its CustomResourceDefinition. */
  install(type: ResourceType): void {
    this.#store.install(type)
    const definition = definitionOf(type)
    if (!this.#hasDefinitions(type)) return
    const table = this.#store.table(CUSTOM_RESOURCE_DEFINITION)
    if (!table.objects.has(definition.metadata.name)) this.admin.create(CUSTOM_RESOURCE_DEFINITION, definition)
  }

  /** Removes all objects of the kind and ends its watches. Requests for the kind then return NotFound. */
  uninstall(type: ResourceType): void {
    const table = this.#store.table(type)
    for (const object of [...table.objects.values()]) this.#store.remove(ADMINISTRATOR, table, object)
    for (const watch of this.#openWatches()) if (watch.isOf(table)) watch.end()
    this.#store.uninstall(type)
    const { name } = definitionOf(type).metadata
    if (this.#hasDefinitions(type)) this.admin.delete(CUSTOM_RESOURCE_DEFINITION, { name })
  }

  /**
   * Sets an object to the given state, with the UID, times and status that it has there, as after a restore of etcd.
   * Its resourceVersion is new.
   */
  restore<T extends KubeObject>(type: ResourceType, object: T): T {
    const { metadata } = object
    const table = this.#store.table(type)
    const before = table.objects.get(keyOf(metadata))
    const uid = metadata.uid ?? before?.metadata.uid ?? `uid-${this.#store.revision}`
    if (before !== undefined && before.metadata.uid !== uid) this.#store.remove(ADMINISTRATOR, table, before)
    return this.#store.put(ADMINISTRATOR, table, { ...object, metadata: { ...metadata, uid } }) as unknown as T
  }

  /** Removes an object at once, regardless of its finalizers. */
  erase(type: ResourceType, key: string): void {
    const table = this.#store.table(type)
    const before = table.objects.get(key)
    if (before !== undefined) this.#store.remove(ADMINISTRATOR, table, before)
  }

  #hasDefinitions(type: ResourceType): boolean {
    return traitsOf(type).isCustom && this.#store.isServed(CUSTOM_RESOURCE_DEFINITION)
  }

  #openWatches(actor?: string): MemoryWatch[] {
    return [...this.#watches].flatMap(([{ name }, watches]) =>
      actor === undefined || name === actor ? [...watches] : [],
    )
  }

  #hopMs(): number {
    return drawn(HOP_MS, this.#random)
  }
}

function adminOf(server: ApiServer, actor: string): Admin {
  const door = {
    get: (type: ResourceType, key: ObjectKey) => server.get(type, key),
    list: (type: ResourceType, options?: ListOptions) => server.list(type, options),
    create: (type: ResourceType, object: KubeObject) => server.create(actor, type, frozenCopy(object)),
    replace: (type: ResourceType, object: KubeObject) => server.replace(actor, type, frozenCopy(object)),
    replaceStatus: (type: ResourceType, object: KubeObject) => server.replaceStatus(actor, type, frozenCopy(object)),
    mergePatch: (type: ResourceType, key: ObjectKey, patch: object) =>
      server.mergePatch(actor, type, key, frozenCopy(patch)),
    delete: (type: ResourceType, key: ObjectKey, options?: DeleteOptions) => server.delete(actor, type, key, options),
  }
  return door as Admin
}

function definitionOf(type: ResourceType): KubeObject {
  return {
    apiVersion: apiVersionOf(CUSTOM_RESOURCE_DEFINITION),
    kind: CUSTOM_RESOURCE_DEFINITION.kind,
    metadata: { name: idOf(type) },
    spec: { group: type.group, names: { kind: type.kind, plural: type.plural } },
  } as KubeObject
}
