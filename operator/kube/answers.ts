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
export function warningsIn({ headers }: Answer): string | undefined {
  const values = [headers['warning'] ?? []].flat()
  return values.map((value) => value.replace(/^299 \S+ "(.*)"$/, '$1').replaceAll('\\"', '"')).join('; ') || undefined
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

export async function errorFrom(
  { verb, type }: { readonly verb: string; readonly type: ResourceType },
  { statusCode: status, headers, body }: Answer,
): Promise<ApiError> {
  const { reason, message, details } = statusBody(await bodyText(body, ERROR_MAX))
  const serverReason = reason ?? ''
  const causes = details?.causes
  const retryAfter = Number(headers['retry-after'] ?? details?.retryAfterSeconds)
  return new ApiError({
    reason: classify(status, serverReason),
    status,
    serverReason,
    message: message ?? `${verb} ${type.plural}: the API server answered ${status}`,
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
