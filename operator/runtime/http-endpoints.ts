import { createServer, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/** Anybody who reaches the port may connect. What all of them together can hold is bounded by this many connections and this much time. */
const MAX_CONNECTIONS = 64
const LIMITS: ServerOptions = {
  // A probe and a scrape send a few hundred bytes, at once.
  maxHeaderSize: 4_096,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 60_000,
}
/** A client that does not read its answer for this long loses it. */
const UNREAD_MS = 10_000

export interface Endpoint {
  readonly path: string
  /** `ok: false` is a 503. */
  readonly answer: () => Promise<{ ok: boolean; contentType: string; body: string }>
}

/**
 * Serves the endpoints on an address: `host:port` or `:port`. Throws when it is malformed or taken. Requests for an endpoint that come while it is being
 * answered get the same answer.
 */
export async function serveEndpoints(address: string, endpoints: readonly Endpoint[]): Promise<Server> {
  const colon = address.lastIndexOf(':')
  const digits = address.slice(colon + 1)
  const port = Number(digits)
  if (colon < 0 || !/^\d{1,5}$/.test(digits) || port > 65_535) {
    throw new Error(`"${address}" is not an address to listen on: write host:port, or :port for all interfaces`)
  }
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  const answers = new Map(endpoints.map((one) => [one.path, shared(one.answer)]))
  const server = createServer(LIMITS, (request, response) => {
    response.setTimeout(UNREAD_MS, () => request.socket.destroy())
    const answer = answers.get(request.url?.split('?')[0] ?? '')
    if (answer === undefined) {
      response.writeHead(404).end()
      return
    }
    answer().then(
      ({ ok, contentType, body }) => response.writeHead(ok ? 200 : 503, { 'content-type': contentType }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  limitConnections(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host === '' ? undefined : host, resolve)
  })
  return server
}

/** While one answer is being made, everybody waits for that one. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined
  return () => {
    making ??= make().finally(() => {
      making = undefined
    })
    return making
  }
}

/**
 * Ends the connection that has said nothing for the longest time when there are too many. To refuse new ones would let a client that opens many keep the
 * probes of the kubelet out, which then restarts the pod.
 */
function limitConnections(server: Server): void {
  const all = new Set<Socket>()
  server.on('connection', (socket) => {
    all.add(socket)
    socket.once('close', () => all.delete(socket))
    const [oldest] = all
    if (all.size > MAX_CONNECTIONS) oldest?.destroy()
  })
  server.on('request', ({ socket }) => {
    all.delete(socket)
    all.add(socket)
  })
}
