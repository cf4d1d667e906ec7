import { createRequire, isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** CommonJS dependencies load Node's modules with `require`, which ES modules do not define. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/**
 * The parts of undici that we and the Kubernetes client's kubeconfig code use. Its index also loads fetch, streams, caches, mocks and WebSockets, and gives
 * the dispatcher the methods of its API, of which its own ProxyAgent needs one.
 */
const UNDICI = `
import connect from './lib/api/api-connect.js'
import Dispatcher from './lib/dispatcher/dispatcher.js'
import Agent from './lib/dispatcher/agent.js'
import ProxyAgent from './lib/dispatcher/proxy-agent.js'
Object.assign(Dispatcher.prototype, { connect })
export { Agent, Dispatcher, ProxyAgent }
`

const MODELS = `
export function createConfiguration() { throw new Error('the generated client is not part of the bundle') }
export class ServerConfiguration {}
`

/** Nothing here runs in a thread of its own. */
const MAIN_THREAD = 'module.exports = { isMainThread: true }'

const NOTHING = 'module.exports = undefined'

const ENGLISH = "export { default as en } from './en.js'"

/**
 * An `import` of a Node module reads every export, including those that load more code when read: `http.WebSocket` loads Node's built-in
 * fetch, `crypto.webcrypto` all of its algorithms. `require` reads only the exports that are used.
 */
const requireOfNode: Plugin = {
  name: 'require-of-node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'of-node' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'of-node' }, ({ path }) => ({ contents: `module.exports = require('${path}')` }))
  },
}

/**
 * Modules that are loaded when one of their exports is first read. Most are for what a process rarely or never does: HTTP/2, proxies, a kubeconfig, logs
 * for a terminal, other processes. They would load much of Node with them.
 */
const LATE: readonly { readonly module: RegExp; readonly importedBy: string }[] = [
  { module: /\/client-h2\.js$/, importedBy: 'undici' },
  { module: /^(socks|socks-proxy-agent|hpagent|js-yaml|jsonpath-plus)$/, importedBy: 'client-node' },
  { module: /\/transport$/, importedBy: join('node_modules', 'pino') },
  { module: /^(fast-json-patch|\.\/_child_process)$/, importedBy: join('node_modules', 'cdk8s') },
  { module: /^yaml$/, importedBy: 'constructs' },
  { module: /^(node:)?child_process$/, importedBy: '' },
]

const loadLate: Plugin = {
  name: 'load-late',
  setup({ onResolve, onLoad, resolve }) {
    const asked = Symbol('asked')
    for (const { module, importedBy } of LATE)
      onResolve({ filter: module }, async ({ path, kind, importer, resolveDir, namespace, pluginData }) => {
        if (pluginData === asked || namespace === 'late' || !importer.includes(importedBy)) return undefined
        if (isBuiltin(path)) return { path, namespace: 'late', pluginData: path }
        const real = await resolve(path, { kind, importer, resolveDir, pluginData: asked })
        // Its name is in the bundle, which must be the same wherever it is made. By its ending it is CommonJS, whatever the module is.
        return { path: `${relative(ROOT, real.path)}.cjs`, namespace: 'late', pluginData: real.path }
      })
    onLoad({ filter: /./, namespace: 'late' }, ({ pluginData }) => {
      const load = `require(${JSON.stringify(pluginData)})`
      const loaded: unknown = createRequire(import.meta.url)(pluginData)
      const getters = Object.keys(loaded as object).map(
        (name) => `get ${JSON.stringify(name)}() { return ${load}[${JSON.stringify(name)}] }`,
      )
      const contents = typeof loaded === 'function' ? `(...all) => ${load}(...all)` : `{ ${getters.join(', ')} }`
      return { contents: `module.exports = ${contents}`, resolveDir: ROOT }
    })
  },
}

/**
 * Excludes code that would be loaded but never used: the Kubernetes client's generated models (we use only its kubeconfig part), zod's
 * translations, most of undici, cdk8s's YAML writer, which is not the one that writes plays, and the parts of prom-client for clusters of Node, pushes
 * and traces. Together they take more than a third of the resident memory of an idle operator.
 */
const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    const replace = (name: string, what: RegExp, importedBy: string, contents: string, folder?: string) => {
      onResolve({ filter: what }, ({ importer, resolveDir, path }) => {
        if (!importer.includes(importedBy)) return undefined
        return { path: name, namespace: 'left-out', pluginData: folder ?? dirname(join(resolveDir, path)) }
      })
      const those = { filter: new RegExp(`^${name}$`), namespace: 'left-out' }
      onLoad(those, ({ pluginData }) => ({ contents, resolveDir: pluginData as string }))
    }
    replace('models', /\/gen\/index\.js$/, 'client-node', MODELS)
    replace('locales', /\/locales\/index\.js$/, join('node_modules', 'zod'), ENGLISH)
    replace('undici', /^undici$/, '', UNDICI, join(ROOT, 'node_modules/undici'))
    replace('threads', /^worker_threads$/, join('node_modules', 'pino'), MAIN_THREAD)
    replace('metrics', /^(\.\/lib\/(cluster|pushgateway)|@opentelemetry\/api)$/, 'prom-client', NOTHING)
    replace('yaml', /^yaml$/, join('node_modules', 'cdk8s'), 'export const defaultOptions = {}')
  },
}

interface BundleOptions {
  readonly target?: string
  readonly beginning?: string
  readonly plugins?: readonly Plugin[]
}

/**
 * Makes one file of a program of ours, with everything that it needs but Node.
 * @param entry path from the root of the repository
 * @param outfile path from there
 * @param target oldest Node that can parse it
 * @param beginning code that runs before all other
 * @param plugins what the program needs besides
 * @returns what is in the bundle
 */
export async function bundle(
  entry: string,
  outfile: string,
  { target = 'node24', beginning = '', plugins = [] }: BundleOptions = {},
): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    outfile: join(ROOT, outfile),
    bundle: true,
    platform: 'node',
    target,
    format: 'esm',
    // Beside the bundle, for those who look for the source of a line. The bundle does not name it, because it is not in the image.
    sourcemap: 'external',
    minifySyntax: true,
    minifyWhitespace: true,
    // Names are kept so that stack traces are readable. Shortening them and restoring them at run time costs 4 % of CPU time.
    minifyIdentifiers: false,
    legalComments: 'linked',
    banner: { js: `${REQUIRE}${beginning}` },
    plugins: [...plugins, leaveOut, loadLate, requireOfNode],
    // Undici's switch for bundles: they leave out its second parser, which it does not use unless told.
    define: { esbuildDetection: 'true' },
    // Development only: logs on a terminal.
    external: ['pino-pretty'],
    logLevel: 'info',
    metafile: true,
  })
  return metafile
}
