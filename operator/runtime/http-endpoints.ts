import { createServer, type Server } from 'node:http'

export interface Endpoint {
  readonly path: string
  /** `ok: false` is a 503. */
  readonly answer: () => Promise<{ ok: boolean; contentType: string; body: string }>
}

/** Serves the endpoints on an address: `host:port` or `:port`. Throws when it is malformed or taken. */
export async function serveEndpoints(address: string, endpoints: readonly Endpoint[]): Promise<Server> {
  const colon = address.lastIndexOf(':')
  const digits = address.slice(colon + 1)
  const port = Number(digits)
  if (colon < 0 || !/^\d{1,5}$/.test(digits) || port > 65_535) {
    throw new Error(`"${address}" is not an address to listen on: write host:port, or :port for all interfaces`)
  }
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  const server = createServer((request, response) => {
    const endpoint = endpoints.find((one) => one.path === request.url?.split('?')[0])
    if (endpoint === undefined) {
      response.writeHead(404).end()
      return
    }
    endpoint.answer().then(
      ({ ok, contentType, body }) => response.writeHead(ok ? 200 : 503, { 'content-type': contentType }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host === '' ? undefined : host, resolve)
  })
  return server
}
