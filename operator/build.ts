import { join } from 'node:path'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** CommonJS dependencies ask for Node's modules with `require`, which an ES module does not have by itself. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

await build({
  entryPoints: [join(ROOT, 'operator/main.ts')],
  outfile: join(ROOT, 'dist/operator.mjs'),
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  sourcemap: true,
  minifySyntax: true,
  legalComments: 'linked',
  banner: { js: REQUIRE },
  // Development alone: logs on a terminal.
  external: ['pino-pretty'],
  logLevel: 'info',
})
