// Passes connections on: from a socket in the file system to an address that is reached from the network namespace of this process.

import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'

const [path = '', host = '', port = ''] = process.argv.slice(2)

rmSync(path, { force: true })
createServer((near) => {
  const far = connect(Number(port), host)
  near.pipe(far).pipe(near)
  near.on('error', () => far.destroy())
  far.on('error', () => near.destroy())
}).listen(path)
// The process that started it holds the other end.
process.stdin.on('end', () => process.exit()).resume()
