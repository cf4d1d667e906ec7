import { createServer } from 'node:net'

export const HOST = '127.0.0.1'

/**
 * Ports below the range from which Linux and macOS take the local end of outgoing connections: while the API server is
 * down, its clients knock at its port all the time, and one of them could otherwise be given that very port.
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
