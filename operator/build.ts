// Makes dist/operator.mjs.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from '../tooling/bundle.ts'

const metafile = await bundle('operator/main.ts', 'dist/operator.mjs')

// The contents of the bundle, for the list of its packages (tooling/sbom.ts).
await writeFile(join(import.meta.dirname, '../dist/operator.meta.json'), JSON.stringify(metafile))
