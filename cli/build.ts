// Makes dist/ot.mjs, which runs as a program.

import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from '../tooling/bundle.ts'

const OT = join(import.meta.dirname, '../dist/ot.mjs')

await bundle('cli/main.ts', 'dist/ot.mjs')
await writeFile(OT, `#!/usr/bin/env node\n${await readFile(OT, 'utf8')}`)
await chmod(OT, 0o755)
