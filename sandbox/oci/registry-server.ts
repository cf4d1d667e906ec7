// Serves the images of a layout until its input ends: the process that started it holds the other end.

import { ImageLayout } from './image-layout.ts'
import { startRegistry } from './registry.ts'

const [folder = '', address = '', port = ''] = process.argv.slice(2)

await startRegistry(await ImageLayout.open(folder), address, Number(port))
process.stdout.write('serving\n')
process.stdin.on('end', () => process.exit()).resume()
