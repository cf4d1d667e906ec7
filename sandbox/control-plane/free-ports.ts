import { createServer } from 'node:net'

export const HOST = '127.0.0.1'

/**
 * Ports below the range from which Linux and macOS assign the local ports of outgoing connections. While the API server
 * is down, its clients keep connecting to its port, and one of them could otherwise be assigned that same port.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}
