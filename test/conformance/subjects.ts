import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient, WatchEvent, WatchOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, NAMESPACE } from '../../operator/kube/resource-types.ts'
import {
  IMAGE,
  MemoryCluster,
  SERVED_TYPES,
  SimulatedProcess,
  VirtualTime,
} from '../../sandbox/memory-cluster/index.ts'
import { persist } from '../harness/persist.ts'

/** An API server under test, as one client sees it. Every case has its own namespace. */
export interface Subject {
  readonly client: KubeClient
  readonly namespace: string
}

/** An API server that serves {@link Subject}s until it is closed. */
export interface Server {
  readonly client: KubeClient
  close(): Promise<void>
}

type Case = (subject: Subject) => Promise<void>

/** Runs every case against the API server in memory and against the real one. */
export function conform(title: string, cases: Readonly<Record<string, Case>>): void {
  describe.each([
    ['in memory', memoryServer],
    ['real', () => realServer(inject('kubeconfig'))],
  ] as const)(`${title} (%s)`, (_kind, start) => {
    let server: Server
    beforeAll(async () => {
      server = await start()
    })
    afterAll(() => server.close())
    test.each(Object.entries(cases))('%s', async (_name, run) => {
      await run(await newSubject(server))
    })
  })
}

/** Runs a test against both kinds of servers, with methods beyond those of the API. Each run has its own server. */
export function conformAlone<S extends Server>(
  title: string,
  start: { readonly memory: () => Promise<S>; readonly real: () => Promise<S> },
  run: (server: S, subject: Subject) => Promise<void>,
): void {
  test.each([
    ['in memory', start.memory],
    ['real', start.real],
  ] as const)(`${title} (%s)`, async (_kind, startOne) => {
    const server = await startOne()
    try {
      await run(server, await newSubject(server))
    } finally {
      await server.close()
    }
  })
}

export async function newSubject({ client }: Server): Promise<Subject> {
  const namespace = `conformance-${randomBytes(4).toString('hex')}`
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return { client, namespace }
}

export async function realServer(kubeconfig: string): Promise<Server> {
  const connection = Connection.fromEnvironment(null, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-conformance' })
  for (const type of [IMAGE, DATA_VOLUME]) await untilServed(client, type)
  return { client, close: () => connection.close() }
}

/** Waits until a kind is served: kinds that were just installed, and servers that have just started, need a moment. */
export async function untilServed(client: KubeClient, type: ResourceType): Promise<void> {
  await persist(`${type.plural} are served`, ['NotFound', 'Unavailable'], () => client.list(type))
}

export function memoryServer(): Server & { readonly cluster: MemoryCluster } {
  const time = new VirtualTime()
  const cluster = new MemoryCluster({ time, random: Math.random, types: SERVED_TYPES })
  const driver = new Driver(time)
  const client = driver.around(cluster.connect({ process: new SimulatedProcess(time, 'conformance') }))
  return { cluster, client, close: async () => undefined }
}

/** Advances virtual time while a caller waits for a response. */
class Driver {
  readonly #time: VirtualTime
  #waiting = 0
  #isRunning = false

  constructor(time: VirtualTime) {
    this.#time = time
  }

  around(client: KubeClient): KubeClient {
    return {
      get: (...args) => this.#await(client.get(...args)),
      list: (...args) => this.#await(client.list(...args)),
      create: (...args) => this.#await(client.create(...args)),
      replace: (...args) => this.#await(client.replace(...args)),
      replaceStatus: (...args) => this.#await(client.replaceStatus(...args)),
      mergePatch: (...args) => this.#await(client.mergePatch(...args)),
      delete: (...args) => this.#await(client.delete(...args)),
      watch: (type, options) => this.#watch(client, type, options),
    }
  }

  #watch<T extends KubeObject>(
    client: KubeClient,
    type: ResourceType,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>> {
    const events = client.watch<T>(type, options)[Symbol.asyncIterator]()
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => this.#await(events.next()),
        return: async () => (await events.return?.()) ?? { done: true, value: undefined },
      }),
    }
  }

  async #await<T>(answer: Promise<T>): Promise<T> {
    this.#waiting += 1
    try {
      void this.#run()
      return await answer
    } finally {
      this.#waiting -= 1
    }
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    while (this.#waiting > 0) {
      const untilMs = this.#time.elapsedMs + 1_000
      await this.#time.run({ untilMs, isDone: () => this.#waiting === 0 })
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#isRunning = false
  }
}

/** What a client can see of an error response. */
export interface Refusal {
  readonly reason: string
  readonly status: number
  readonly serverReason: string
  readonly causes: readonly string[]
}

/** The response to a position or page that is compacted. */
export const EXPIRED: Refusal = { reason: 'Expired', status: 410, serverReason: 'Expired', causes: [] }

/** Returns how a request was refused. Throws if it was not. */
export async function refusalOf(request: Promise<unknown>): Promise<Refusal> {
  try {
    await request
  } catch (error) {
    if (!isApiError(error)) throw error
    const { reason, status, serverReason, causes } = error
    return { reason, status, serverReason, causes }
  }
  throw new Error('the request was not refused')
}
