import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Endpoint, serveEndpoints } from './http-endpoints.ts'

let server: Server | undefined
const portOf = (one: Server) => (one.address() as AddressInfo).port
afterEach(async () => {
  const one = server
  server = undefined
  one?.closeAllConnections()
  if (one?.listening) await new Promise((resolve) => one.close(resolve))
})

const endpoint = (path: string, ok: boolean): Endpoint => ({
  path,
  answer: async () => ({ ok, contentType: 'text/plain', body: path }),
})

describe('endpoints', () => {
  it('answer, say when they are not well, and are all that there is', async () => {
    const broken: Endpoint = { path: '/broken', answer: () => Promise.reject(new Error('oh')) }
    server = await serveEndpoints('127.0.0.1:0', [endpoint('/ok', true), endpoint('/ill', false), broken])
    const base = `http://127.0.0.1:${portOf(server)}`
    const answers = await Promise.all(
      ['/ok', '/ok?x=1', '/ill', '/broken', '/other', '/'].map(async (path) => {
        const response = await fetch(base + path)
        return [response.status, await response.text()]
      }),
    )
    expect(answers).toEqual([
      [200, '/ok'],
      [200, '/ok'],
      [503, '/ill'],
      [500, 'Error: oh'],
      [404, ''],
      [404, ''],
    ])
  })

  it.each(['', '8080', '127.0.0.1:', 'host:port', ':70000', ':-1'])('are not served on %j', async (address) => {
    const serving = serveEndpoints(address, [])
    server = await serving.catch(() => undefined)
    await expect(serving.then(() => 'served')).rejects.toThrow('address')
  })

  it('are not served on an address that is taken', async () => {
    server = await serveEndpoints('127.0.0.1:0', [])
    await expect(serveEndpoints(`127.0.0.1:${portOf(server)}`, [])).rejects.toThrow('EADDRINUSE')
  })
})
