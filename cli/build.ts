// Makes dist/ot.mjs, which runs as a program.

import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from '../tooling/bundle.ts'
import { licensesOf } from '../tooling/licenses.ts'
import { bundledPackages } from '../tooling/sbom.ts'
import { pageInside } from './ui/build-page.ts'

const OT = join(import.meta.dirname, '../dist/ot.mjs')
const NODE = 24

/** An older Node says what it lacks. It can parse the file, and runs nothing of it but this. */
const CHECK = `
if (Number(process.versions.node.split('.')[0]) < ${NODE}) {
  process.stderr.write('ot: it needs Node ${NODE} or newer, and this is Node ' + process.versions.node + ': install a newer one\\n')
  process.exit(1)
}
`

const metafile = await bundle('cli/main.ts', 'dist/ot.mjs', {
  target: 'node18',
  beginning: CHECK,
  plugins: [pageInside],
})
await writeFile(join(OT, '../ot.licenses.txt'), licensesOf(bundledPackages(metafile)))
await writeFile(OT, `#!/usr/bin/env node\n${await readFile(OT, 'utf8')}`)
await chmod(OT, 0o755)
