import { writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** CommonJS dependencies ask for Node's modules with `require`, which an ES module does not have by itself. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** What we and the Kubernetes client's kubeconfig take of undici. Its index loads fetch, streams, caches, mocks and WebSockets as well. */
const UNDICI = `
import Dispatcher from './lib/dispatcher/dispatcher.js'
import Agent from './lib/dispatcher/agent.js'
import ProxyAgent from './lib/dispatcher/proxy-agent.js'
export { Agent, Dispatcher, ProxyAgent }
`

/**
 * An `import` of one of Node's modules reads every export, also those that load more when they are read: `http.WebSocket` loads the
 * fetch that Node has built in, `crypto.webcrypto` all of its algorithms. `require` reads what is asked for.
 */
const requireOfNode: Plugin = {
  name: 'require-of-node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'of-node' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'of-node' }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
    }))
  },
}

/**
 * Leaves out what would be loaded and never used: the Kubernetes client's generated models (only its kubeconfig part is
 * ours), zod's translations, most of undici, and the YAML writer of cdk8s, which is not the one that writes plays. Together they are
 * more than a third of the resident memory of an idle operator.
 */
const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/gen\/index\.js$/ }, ({ importer }) =>
      importer.includes('client-node') ? { path: 'models', namespace: 'left-out' } : undefined,
    )
    onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer, resolveDir, path }) =>
      importer.includes(`${join('node_modules', 'zod')}`)
        ? { path: 'locales', namespace: 'left-out', pluginData: dirname(join(resolveDir, path)) }
        : undefined,
    )
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'left-out' }))
    onLoad({ filter: /^undici$/, namespace: 'left-out' }, () => ({
      contents: UNDICI,
      resolveDir: join(ROOT, 'node_modules/undici'),
    }))
    onResolve({ filter: /^yaml$/ }, ({ importer }) =>
      importer.includes(`${join('node_modules', 'cdk8s')}`) ? { path: 'yaml', namespace: 'left-out' } : undefined,
    )
    onLoad({ filter: /^yaml$/, namespace: 'left-out' }, () => ({
      contents: 'export const defaultOptions = {}',
    }))
    onLoad({ filter: /^models$/, namespace: 'left-out' }, () => ({
      contents:
        "export function createConfiguration() { throw new Error('the generated client is not part of the bundle') }\n" +
        'export class ServerConfiguration {}',
    }))
    onLoad({ filter: /^locales$/, namespace: 'left-out' }, ({ pluginData }) => ({
      contents: "export { default as en } from './en.js'",
      resolveDir: pluginData as string,
    }))
  },
}

const { metafile } = await build({
  entryPoints: [join(ROOT, 'operator/main.ts')],
  outfile: join(ROOT, 'dist/operator.mjs'),
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  sourcemap: true,
  minifySyntax: true,
  minifyWhitespace: true,
  // Names stay as they are, for traces that people can read. Shorter ones that are put back at run time cost 4 % of the processor time.
  minifyIdentifiers: false,
  legalComments: 'linked',
  banner: { js: REQUIRE },
  plugins: [requireOfNode, leaveOut],
  // Development alone: logs on a terminal.
  external: ['pino-pretty'],
  logLevel: 'info',
  metafile: true,
})

// What is in it, for the list of its packages (tooling/sbom.ts).
await writeFile(join(ROOT, 'dist/operator.meta.json'), JSON.stringify(metafile))
