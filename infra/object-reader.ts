import { existsSync } from 'node:fs'
import { request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { homedir } from 'node:os'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Manifest } from '@open-terrain/constructs/platform'
import { RunError } from '@pulumi/pulumi'
import { pluralOf, type StoredObject } from './settled.ts'

/** Where the objects of a program are. */
export interface ClusterAccess {
  /** Content or path. @default what the environment variable KUBECONFIG names, or the file of kubectl, or the ServiceAccount of the pod */
  readonly kubeconfig: string | undefined
  /** @default the current one */
  readonly context: string | undefined
}

/** No answer for so long is no answer. */
const ANSWERS_WITHIN_MS = 15_000
const MESSAGE_MAX = 400

/** Reads objects of the Open Terrain API, one by one: whoever applies an object may also read it, but perhaps not list its kind. */
export class ObjectReader {
  /** URL of the API server, as the kubeconfig has it. */
  readonly server: string
  readonly #config: KubeConfig

  private constructor(config: KubeConfig, server: string) {
    this.#config = config
    this.server = server
  }

  /** Throws a RunError with one sentence if nothing names a cluster. */
  static async open({ kubeconfig, context }: ClusterAccess): Promise<ObjectReader> {
    // It loads a thousand generated models, which a preview does not need.
    const { KubeConfig } = await import('@kubernetes/client-node')
    const config = new KubeConfig()
    try {
      load(config, kubeconfig)
    } catch {
      // The words of the parser may have a part of the content, which is secret.
      throw new RunError('the kubeconfig cannot be read: see whether the file exists and is YAML')
    }
    if (context !== undefined) config.setCurrentContext(context)
    const server = config.getCurrentCluster()?.server
    const where = context === undefined ? 'has no current context' : `has no context ${context}`
    if (server === undefined || !URL.canParse(server))
      throw new RunError(`the kubeconfig ${where}, so objects cannot be awaited: set kubeconfig and context`)
    return new ObjectReader(config, server)
  }

  /** Returns the object as the API server has it now, or undefined if it has none. Throws if it gives no answer or refuses. */
  async read(manifest: Manifest): Promise<StoredObject | undefined> {
    const { apiVersion, metadata } = manifest
    const scope = metadata.namespace === undefined ? '' : `/namespaces/${encodeURIComponent(metadata.namespace)}`
    const path = `/apis/${apiVersion}${scope}/${pluralOf(manifest)}/${encodeURIComponent(metadata.name)}`
    const { status, text } = await this.#get(`${this.server.replace(/\/+$/, '')}${path}`)
    if (status === 404) return undefined
    if (status !== 200) throw new Error(`the API server answers ${status}: ${messageIn(text)}`)
    return JSON.parse(text) as StoredObject
  }

  async #get(url: string): Promise<{ readonly status: number; readonly text: string }> {
    const options: RequestOptions = {}
    // Each time, because tokens expire.
    await this.#config.applyToHTTPSOptions(options)
    const send = url.startsWith('http:') ? requestHttp : requestHttps
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS)
    return await new Promise((resolve, reject) => {
      const fail = (error: Error) =>
        reject(signal.aborted ? new Error(`no answer within ${ANSWERS_WITHIN_MS / 1_000} seconds`) : error)
      const sent = send(url, { ...options, signal }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
        response.on('error', fail)
      })
      sent.on('error', fail)
      sent.end()
    })
  }
}

function load(config: KubeConfig, given: string | undefined): void {
  if (given === undefined) {
    config.loadFromDefault()
    // What the library guesses when it finds nothing.
    if (config.getCurrentContext() === 'loaded-context') config.setCurrentContext('')
    return
  }
  const path = given.replace(/^~(?=\/)/, homedir())
  if (!given.includes('\n') && existsSync(path)) config.loadFromFile(path)
  else config.loadFromString(given)
}

function messageIn(text: string): string {
  let message = text
  try {
    message = (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    // What a proxy answers is no JSON.
  }
  return message.slice(0, MESSAGE_MAX)
}
