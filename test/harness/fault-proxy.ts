import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { narrow, type ProxiedRequest, readRequest } from './fault-proxy-request.ts'
import { type Interruption, ProxiedWatch } from './fault-proxy-watch.ts'
import { readKubeconfig } from './kubeconfig.ts'
import { responseTo } from './response.ts'

/** What the proxy does with a request. */
export type Fault =
  /** The proxy responds by itself. The API server does not receive the request. */
  | { readonly type: 'answer'; readonly status: number; readonly retryAfterSeconds?: number; readonly body?: unknown }
  /** The connection breaks. The API server does not receive the request. */
  | { readonly type: 'reset' }
  /** The proxy holds the request, and then forwards or drops it. */
  | { readonly type: 'hold'; readonly until: () => Promise<'forward' | 'drop'> }
  /** The API server executes the request, and the proxy holds the response. */
  | { readonly type: 'withhold'; readonly until: () => Promise<unknown> }
  /** Lost response: the API server executes the request, then `after` runs, and the connection breaks. */
  | { readonly type: 'lose'; readonly after?: () => Promise<void> }
  /** The proxy forwards the request after this many milliseconds. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The watch is interrupted at its first event. */
  | { readonly type: 'interrupt'; readonly how: Interruption }

/** Decides about each request, in the order of arrival. Undefined lets it pass. */
export type Rule = (request: ProxiedRequest) => Fault | undefined

export interface SeenRequest extends ProxiedRequest {
  /** Wall clock time. */
  readonly at: number
  /** Status code of the API server. 0 until it responds, and for requests that it did not receive. */
  status: number
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * Proxy between an operator and the API server. It records requests and causes the faults of a network. It speaks plain HTTP on loopback to the
 * operator, and TLS with the credentials of a user to the API server.
 */
export class FaultProxy implements AsyncDisposable {
  /** For the operator. */
  readonly kubeconfigPath: string
  readonly seen: SeenRequest[] = []
  readonly watches = new Set<ProxiedWatch>()
  /** Applies to every request that arrives from now on. */
  rule: Rule | undefined
  readonly #upstream: URL
  readonly #agent: Agent
  readonly #server: Server
  readonly #directory: string
  readonly #namespace: string | undefined
  readonly #sees: ((object: KubeObject) => boolean) | undefined
  readonly #counts = new Map<string, number>()

  private constructor(parts: {
    upstream: URL
    agent: Agent
    server: Server
    directory: string
    kubeconfigPath: string
    namespace: string | undefined
    sees: ((object: KubeObject) => boolean) | undefined
  }) {
    this.#upstream = parts.upstream
    this.#agent = parts.agent
    this.#server = parts.server
    this.#directory = parts.directory
    this.kubeconfigPath = parts.kubeconfigPath
    this.#namespace = parts.namespace
    this.#sees = parts.sees
    this.#server.on('request', (incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy())
    })
  }

  /**
   * `namespace`: the operator receives only objects of this namespace; default: of the whole cluster. `sees`: the same for more than one namespace,
   * called for each object of a list or watch. `kubeconfig`: credentials for the API server; default: an administrator's.
   */
  static async start(
    cluster: Cluster,
    options: {
      readonly namespace?: string
      readonly sees?: (object: KubeObject) => boolean
      readonly kubeconfig?: string
    } = {},
  ): Promise<FaultProxy> {
    const { server: upstream, ...credentials } = await readKubeconfig(
      options.kubeconfig ?? cluster.controlPlane.kubeconfigPath,
    )
    const server = createServer({ keepAliveTimeout: 0 }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const directory = await mkdtemp(join(tmpdir(), 'open-terrain-proxy-'))
    const kubeconfigPath = join(directory, 'kubeconfig')
    await writeFile(kubeconfigPath, kubeconfigFor((server.address() as AddressInfo).port))
    return new FaultProxy({
      upstream: new URL(upstream),
      agent: new Agent({ keepAlive: true, ...credentials }),
      server,
      directory,
      kubeconfigPath,
      namespace: options.namespace,
      sees: options.sees,
    })
  }

  /** The number of successful requests with this verb and resource. */
  countOf(verb: string, resource: string): number {
    return this.seen.filter((one) => one.verb === verb && one.resource === resource && isSuccess(one)).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    this.#agent.destroy()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(incoming)
    const seen = this.#note(incoming, body)
    const fault = this.rule?.(seen)
    switch (fault?.type) {
      case 'answer':
        reply(response, answerOf(fault))
        return
      case 'reset':
        response.destroy()
        return
      case 'hold':
        if ((await fault.until()) === 'drop') response.destroy()
        else await this.#pass(seen, incoming, body, response)
        return
      case 'withhold': {
        const answer = await this.#forward(seen, incoming, body)
        await fault.until()
        reply(response, answer)
        return
      }
      case 'lose':
        await this.#forward(seen, incoming, body)
        await fault.after?.()
        response.destroy()
        return
      case 'delay':
        await sleep(fault.ms)
        await this.#pass(seen, incoming, body, response)
        return
      default:
        await this.#pass(seen, incoming, body, response, fault?.how)
    }
  }

  #note(incoming: IncomingMessage, body: string): SeenRequest {
    const request = readRequest(incoming.method ?? 'GET', new URL(incoming.url ?? '/', this.#upstream))
    const key = `${request.verb} ${request.resource}`
    const nth = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, nth)
    const parsed = body === '' ? undefined : JSON.parse(body)
    const seen: SeenRequest = { ...request, nth, body: parsed, at: Date.now(), status: 0 }
    this.seen.push(seen)
    return seen
  }

  async #pass(
    seen: SeenRequest,
    incoming: IncomingMessage,
    body: string,
    response: ServerResponse,
    how?: Interruption,
  ): Promise<void> {
    if (seen.verb !== 'watch') {
      reply(response, await this.#forward(seen, incoming, body))
      return
    }
    const source = await this.#send(incoming, body)
    seen.status = source.statusCode ?? 0
    response.writeHead(seen.status, headersOf(source.headers))
    const watch = new ProxiedWatch(seen, source, response, this.#sees)
    if (how !== undefined) watch.interrupt(how)
    this.watches.add(watch)
    await watch.relay().finally(() => this.watches.delete(watch))
  }

  async #forward(seen: SeenRequest, incoming: IncomingMessage, body: string): Promise<Answer> {
    const answer = await this.#send(incoming, body)
    const { headers } = answer
    const read = await text(answer)
    seen.status = answer.statusCode ?? 0
    const isPage = seen.verb === 'list' && seen.status === 200
    return { status: seen.status, headers, body: isPage ? this.#cut(read) : read }
  }

  /** Removes the objects that the operator must not see from a page of a list. */
  #cut(body: string): string {
    if (this.#sees === undefined) return body
    const page = JSON.parse(body) as { readonly items?: readonly KubeObject[] }
    return JSON.stringify({ ...page, items: (page.items ?? []).filter(this.#sees) })
  }

  /** Forwards the request even if the client has disconnected, as a network does. */
  async #send(incoming: IncomingMessage, body: string): Promise<IncomingMessage> {
    const url = new URL(incoming.url ?? '/', this.#upstream)
    if (this.#namespace !== undefined) url.pathname = narrow(url.pathname, this.#namespace)
    const { accept, 'content-type': contentType, 'user-agent': userAgent } = incoming.headers
    // Without its length, Node would send the body of a DELETE as if it were the next request.
    const length = String(Buffer.byteLength(body))
    const headers = defined({ accept, 'content-type': contentType, 'user-agent': userAgent, 'content-length': length })
    const sent = request(url, { method: incoming.method, headers, agent: this.#agent }).end(body)
    return await responseTo(sent)
  }
}

function answerOf({ status, retryAfterSeconds, body }: Fault & { type: 'answer' }): Answer {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  const said = body ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message: 'made up' }
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(said) }
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headersOf(headers)).end(body)
}

/** Keeps the headers that the operator reads. The others concern the upstream connection. */
function headersOf(headers: IncomingMessage['headers']): Record<string, string> {
  return defined({ 'content-type': headers['content-type'], 'retry-after': headers['retry-after'] })
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
}

function isSuccess({ status }: SeenRequest): boolean {
  return status >= 200 && status < 300
}

function kubeconfigFor(port: number): string {
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'proxy', cluster }],
    users: [{ name: 'operator', user: {} }],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'operator' } }],
    'current-context': 'proxy',
  })
}
