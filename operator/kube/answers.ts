import { withoutSecretsOf } from '../base/secrets-of.ts'
import { ApiError, classify } from './api-error.ts'
import type { Answer } from './exchange.ts'
import type { WatchEvent } from './kube-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from './kube-object.ts'

/** Parses the responses of an API server. */

/** Bytes. A webhook can put any text into its refusal. */
const ERROR_MAX = 2 ** 20
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

interface StatusBody {
  readonly message?: string
  readonly reason?: string
  readonly code?: number
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly { readonly reason?: string }[] }
}

export function watchEvent<T extends KubeObject>(type: ResourceType, line: string): WatchEvent<T> {
  const event = JSON.parse(line) as { type: string; object: T & StatusBody }
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: event.type, object: setResourceType(type, event.object) }
    case 'BOOKMARK': {
      const { resourceVersion = '0', annotations } = event.object.metadata
      const bookmark = { type: 'BOOKMARK', resourceVersion } as const
      return annotations?.[INITIAL_EVENTS_END] === 'true' ? { ...bookmark, endsInitialEvents: true } : bookmark
    }
    default: {
      const { code = 500, reason = '', message = `unexpected watch event ${event.type}` } = event.object
      throw new ApiError({ reason: classify(code, reason), status: code, serverReason: reason, message })
    }
  }
}

/**
 * Sets apiVersion and kind of an object that was just parsed. List items omit both, and metadata-only responses carry those of
 * PartialObjectMetadata. All other responses have them, but as texts of their own: tens of thousands of objects in the caches would each
 * hold a copy.
 */
export function setResourceType<T extends KubeObject>(type: ResourceType, object: T): T {
  return Object.assign(object, { apiVersion: apiVersionOf(type), kind: type.kind })
}

/** Returns the texts of the `Warning` headers: `299 - "unknown field \\"spec.x\\""`. */
export function warningsIn(
  { headers }: Answer,
  { type, body: sent }: { readonly type: ResourceType; readonly body?: object },
): string | undefined {
  const values = [headers['warning'] ?? []].flat()
  const texts = values.map((value) => value.replace(/^299 \S+ "(.*)"$/, '$1').replaceAll('\\"', '"'))
  return withoutSecretsOf(texts.join('; '), type.kind, sent) || undefined
}

/** Returns the whole body, or an empty string if it is longer than `most` bytes. */
export async function bodyText(body: Answer['body'], most = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > most) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Refusals that may quote what they refuse: those of webhooks, of admission policies, and of the rules for fields. */
const MAY_QUOTE = /admission|\b(invalid|duplicate|unsupported) value\b/i
const LEFT_OUT =
  'the API server refused it. What it said is left out: it may quote secrets of the object, and the object cannot be read'

/**
 * @param readStored reads the object that the request changes or deletes. A refusal may quote all of it.
 */
export async function errorFrom(
  { verb, type, body: sent }: { readonly verb: string; readonly type: ResourceType; readonly body?: object },
  { statusCode: status, headers, body }: Answer,
  readStored: () => Promise<object | undefined> = async () => undefined,
): Promise<ApiError> {
  const {
    reason,
    message: said = `${verb} ${type.plural}: the API server answered ${status}`,
    details,
  } = statusBody(await bodyText(body, ERROR_MAX))
  const serverReason = reason ?? ''
  const causes = details?.causes
  const retryAfter = Number(headers['retry-after'] ?? details?.retryAfterSeconds)
  const withoutStored = async (text: string) => withoutSecretsOf(text, type.kind, await readStored())
  const message = withoutSecretsOf(said, type.kind, sent)
  // What a read does not find has nothing to quote.
  const mayQuote = MAY_QUOTE.test(said) && !(verb === 'get' && status === 404)
  return new ApiError({
    reason: classify(status, serverReason),
    status,
    serverReason,
    message: mayQuote ? await withoutStored(message).catch(() => LEFT_OUT) : message,
    retryAfterMs: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter * 1_000 : undefined,
    causes: Array.isArray(causes) ? causes.flatMap((cause) => cause?.reason ?? []) : [],
  })
}

/** A proxy in between can respond with something other than a Kubernetes Status. */
function statusBody(text: string): StatusBody {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
