import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
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

  it('answer a probe while somebody holds more connections than there can be, of which the oldest end', async () => {
    server = await serveEndpoints('127.0.0.1:0', [endpoint('/ok', true)])
    const port = portOf(server)
    const held = await Promise.all(Array.from({ length: 200 }, () => openRequest(port)))
    expect(await (await fetch(`http://127.0.0.1:${port}/ok`)).text()).toBe('/ok')
    await expect.poll(() => held.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(200 - 64)
    expect(held.filter(({ closed }) => !closed).length).toBeGreaterThan(0)
    for (const one of held) one.destroy()
  })

  it('refuse a header that no probe has', async () => {
    server = await serveEndpoints('127.0.0.1:0', [endpoint('/ok', true)])
    const response = await fetch(`http://127.0.0.1:${portOf(server)}/ok`, { headers: { 'x-long': 'x'.repeat(5_000) } })
    expect(response.status).toBe(431)
  })

  it('make one answer for all who ask meanwhile, and a new one afterwards', async () => {
    const making: (() => void)[] = []
    const slow: Endpoint = {
      path: '/slow',
      answer: () =>
        new Promise((resolve) => {
          making.push(() => resolve({ ok: true, contentType: 'text/plain', body: String(making.length) }))
        }),
    }
    server = await serveEndpoints('127.0.0.1:0', [slow])
    let requests = 0
    server.on('request', () => {
      requests += 1
    })
    const ask = async () => await (await fetch(`http://127.0.0.1:${portOf(server as Server)}/slow`)).text()
    const three = [ask(), ask(), ask()]
    await expect.poll(() => requests).toBe(3)
    making[0]?.()
    expect(await Promise.all(three)).toEqual(['1', '1', '1'])
    const next = ask()
    await expect.poll(() => making.length).toBe(2)
    making[1]?.()
    expect(await next).toBe('2')
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

/** Resolves with a connection on which a request has begun, and never ends. */
async function openRequest(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // The server may end it at any time.
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.resume().write('GET /ok HTTP/1.1\r\nx-never: ')
  return socket
}
