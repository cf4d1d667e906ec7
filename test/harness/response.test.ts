import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { responseTo } from './response.ts'

const server = createServer((incoming, response) => {
  if (incoming.url === '/refused') return void incoming.socket.resetAndDestroy()
  response.flushHeaders()
  incoming.socket.once('data', () => incoming.socket.resetAndDestroy())
})

afterEach(() => void server.close())

async function get(path: string) {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return request({ host: '127.0.0.1', port, path, agent: false, createConnection: () => connect(port, '127.0.0.1') })
}

it('breaks the body, and nothing else, if the connection is reset after the headers', async () => {
  const asked = (await get('/watch')).end()
  const response = await responseTo(asked)
  asked.socket?.write('\n')
  await expect(text(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

it('throws if the connection is reset before a response', async () => {
  await expect(responseTo((await get('/refused')).end())).rejects.toMatchObject({ code: 'ECONNRESET' })
})
