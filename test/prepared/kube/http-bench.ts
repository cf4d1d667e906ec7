import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { Connection } from '../../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../../operator/kube/http-client.ts'
import type { RequestReport } from '../../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'

interface Seen {
  readonly method: string | undefined
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export const KEY = { namespace: 'n', name: 'a' }
export function aConfigMap(): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY, resourceVersion: '5' } }
}

/** Starts one HTTP server for all tests of a file and a new client for each test. Each test sets the server's response. */
export function useHttpBench(): HttpBench {
  const bench = new HttpBench()
  beforeAll(() => bench.start())
  afterAll(() => bench.stop())
  beforeEach(() => bench.connect())
  afterEach(() => bench.connection.close())
  return bench
}

class HttpBench {
  answer: (response: ServerResponse) => void = (response) => respond(response, 200, {})
  seen: Seen[] = []
  reports: RequestReport[] = []
  readonly #server: Server
  #folder = ''
  #connection: Connection | undefined
  #client: HttpKubeClient | undefined

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { method, headers } = request
        const url = new URL(request.url ?? '/', 'http://server')
        this.seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
        this.answer(response)
      })
    })
  }

  get connection(): Connection {
    return begun(this.#connection)
  }

  get client(): HttpKubeClient {
    return begun(this.#client)
  }

  /** Method, path and query of the first request. */
  get request(): string {
    const { method, url } = this.#first
    return `${method} ${url.pathname}${url.search}`
  }

  /** Query of the first request. */
  get query(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#first.url.searchParams)
  }

  get #first(): Seen {
    return begun(this.seen[0])
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#folder = mkdtempSync(join(tmpdir(), 'http-client-'))
  }

  connect(): void {
    this.seen = []
    this.reports = []
    const { port } = this.#server.address() as AddressInfo
    this.#connection = this.connectionTo(`http://127.0.0.1:${port}/prefix/`, 4)
    const onRequest = (report: RequestReport) => this.reports.push(report)
    this.#client = new HttpKubeClient({ connection: this.#connection, userAgent: 'tester', onRequest })
  }

  /** The caller must close it. */
  connectionTo(server: string, connections = 1): Connection {
    const config = join(this.#folder, 'config')
    writeFileSync(config, kubeconfigFor(server))
    return Connection.fromEnvironment(connections, config)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#folder, { recursive: true })
  }
}

/** Sends a JSON response. */
export function respond(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function begun<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('no test has begun, or there was no request')
  return value
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'the-token' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })
}
