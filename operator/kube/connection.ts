import { existsSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { join } from 'node:path'
// The entry point of the package loads a thousand generated models. Only the configuration is needed.
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { Agent, type Dispatcher } from 'undici'
import { messageOf } from '../base/messages.ts'

/** Reload interval. Credentials can rotate on disk; ServiceAccount tokens do so hourly. */
const RELOAD_AFTER_MS = 60_000
/** Where a pod has the token of its ServiceAccount. */
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'
const TLS_OPTIONS = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'] as const

interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
  readonly identity: string
}

/**
 * Address of the API server and the client's credentials, from `$KUBECONFIG`, `~/.kube/config` or the pod's ServiceAccount, in that order.
 * Connections are pooled and kept alive. One dispatcher is used until the certificates change.
 */
export class Connection {
  readonly server: URL
  readonly #config: KubeConfig
  readonly #connections: number | null
  #credentials: Credentials | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<Credentials> | undefined

  private constructor(config: KubeConfig, connections: number | null) {
    const cluster = config.getCurrentCluster()
    if (cluster === null) {
      throw new Error(
        'no Kubernetes cluster is configured: set KUBECONFIG to a kubeconfig with a current context, or run in a pod with a ServiceAccount',
      )
    }
    this.server = serverOf(cluster)
    this.#config = config
    this.#connections = connections
  }

  /**
   * `connections` is the maximum number of open connections; null means unlimited (each watch holds one).
   * @param context name of a context of the kubeconfig. Default: its current one
   * @throws Error with a one-sentence message if there is no usable kubeconfig
   */
  static fromEnvironment(connections: number | null, kubeconfig?: string, context?: string): Connection {
    const config = new KubeConfig()
    try {
      if (kubeconfig !== undefined && kubeconfig !== '') config.loadFromFile(kubeconfig)
      else config.loadFromDefault()
    } catch (error) {
      const where = kubeconfig === undefined ? 'the kubeconfig' : `the kubeconfig ${kubeconfig}`
      throw new Error(`${where} cannot be read: ${messageOf(error)}`)
    }
    const searched = kubeconfig === undefined ? whereNothingIs(config) : undefined
    if (searched !== undefined) {
      throw new Error(
        `no credentials for a Kubernetes cluster were found (${searched}): set KUBECONFIG to a kubeconfig with a current context, or run in a pod with the token of a ServiceAccount`,
      )
    }
    if (context !== undefined) useContext(config, context)
    return new Connection(config, connections)
  }

  /** Namespace of the current context; undefined if it names none. */
  get namespace(): string | undefined {
    return this.#config.getContextObject(this.#config.getCurrentContext())?.namespace
  }

  /** Returns a promise only if the credentials must be loaded. */
  credentials(): Credentials | Promise<Credentials> {
    if (this.#credentials !== undefined && performance.now() - this.#loadedAt < RELOAD_AFTER_MS)
      return this.#credentials
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async close(): Promise<void> {
    await this.#credentials?.dispatcher.destroy()
    this.#credentials = undefined
  }

  async #load(): Promise<Credentials> {
    const options: RequestOptions = {}
    await this.#config.applyToHTTPSOptions(options)
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value)
    if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
    const tls = Object.fromEntries(
      TLS_OPTIONS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
    )
    const identity = JSON.stringify(tls)
    const previous = this.#credentials
    const dispatcher = previous?.identity === identity ? previous.dispatcher : await this.#createDispatcher(tls)
    this.#credentials = { headers, dispatcher, identity }
    this.#loadedAt = performance.now()
    // Requests in flight finish on the old connections, which take no new requests.
    if (previous !== undefined && previous.dispatcher !== dispatcher) previous.dispatcher.close().catch(() => undefined)
    return this.#credentials
  }

  async #createDispatcher(tls: object): Promise<Dispatcher> {
    if (this.#config.getCurrentCluster()?.proxyUrl) return await this.#proxied()
    return new Agent({
      connections: this.#connections,
      pipelining: 1,
      // One request per connection: a stalled request blocks no other, and closing a connection has no side effects.
      allowH2: false,
      keepAliveTimeout: 60_000,
      connect: { ...tls, timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 15_000 },
      // Each request has its own deadline, and a watch can be silent for a minute.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** The library supports the proxies that a kubeconfig can name. It passes its dispatcher to a request, so this captures it from a stub request. */
  async #proxied(): Promise<Dispatcher> {
    const dispatcher = Promise.withResolvers<Dispatcher>()
    const request = { setHeaderParam: () => undefined, setDispatcher: (one: Dispatcher) => dispatcher.resolve(one) }
    await this.#config.applySecurityAuthentication(request as never)
    return await dispatcher.promise
  }
}

function useContext(config: KubeConfig, context: string): void {
  const names = config.contexts.map(({ name }) => name)
  if (!names.includes(context))
    throw new Error(`the kubeconfig has no context ${context}: it has ${names.join(', ') || 'none'}`)
  config.setCurrentContext(context)
}

function serverOf({ name, server }: { readonly name: string; readonly server: string }): URL {
  const url = URL.parse(server)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url
  throw new Error(
    `the server of cluster "${name}" in the kubeconfig is no URL: write for example https://kubernetes.example:6443`,
  )
}

/**
 * Says where was searched in vain, or returns undefined if something was found. The library then takes http://localhost:8080, or in a pod without
 * the address of the API server https://undefined: a refused connection would send people the wrong way.
 */
function whereNothingIs({ currentContext, clusters: [first] }: KubeConfig): string | undefined {
  const isGuess = currentContext === 'loaded-context' && first?.server === 'http://localhost:8080'
  const { HOME, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = process.env
  const isWithoutAddress =
    currentContext === 'inClusterContext' && !(KUBERNETES_SERVICE_HOST && KUBERNETES_SERVICE_PORT)
  if (!isGuess && !isWithoutAddress) return undefined
  const file = HOME ? `${join(HOME, '.kube/config')} does not exist` : 'HOME is not set'
  const pod = existsSync(TOKEN)
    ? `${TOKEN} is there without KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT`
    : `${TOKEN} does not exist`
  return `KUBECONFIG is not set, ${file}, ${pod}`
}
