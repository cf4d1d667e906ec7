import { redactUrls } from '../runtime/redact.ts'

/** What became of a request, as far as it matters for what to do next. */
export type ApiErrorReason =
  /** 404, also for a kind that is not installed. */
  | 'NotFound'
  /** 409 on a create. */
  | 'AlreadyExists'
  /** 409: a precondition (resourceVersion, uid) does not hold. */
  | 'Conflict'
  /** 410: the resourceVersion or continue token is too old. */
  | 'Expired'
  /** 400, 403, 422 and other refusals that the same request will meet again. */
  | 'Rejected'
  /** 429, 503 and 5xx: try again later. */
  | 'Unavailable'
  /** No answer: whether a write happened is unknown. */
  | 'NoAnswer'

/**
 * An answer of the API server that is not a success, or the lack of one. The message is fit for people: webhooks and admission policies
 * of others may say anything in it, at any length.
 */
export class ApiError extends Error {
  readonly reason: ApiErrorReason
  /** HTTP status, 0 when there was no answer. */
  readonly status: number
  /** The server's own reason, such as `NamespaceTerminating` or `Forbidden`; empty when it gave none. */
  readonly serverReason: string
  /** From Retry-After, in milliseconds, up to 10 s. */
  readonly retryAfterMs: number | undefined
  /** `details.causes[].reason` of the server's Status. */
  readonly causes: readonly string[]

  constructor(init: {
    reason: ApiErrorReason
    status: number
    message: string
    serverReason?: string
    retryAfterMs?: number | undefined
    causes?: readonly string[]
    cause?: unknown
  }) {
    super(redactUrls(init.message), init.cause === undefined ? undefined : { cause: init.cause })
    this.name = 'ApiError'
    this.reason = init.reason
    this.status = init.status
    this.serverReason = redactUrls(init.serverReason ?? '')
    this.retryAfterMs = init.retryAfterMs && Math.min(init.retryAfterMs, RETRY_AFTER_MAX_MS)
    this.causes = (init.causes ?? []).slice(0, CAUSES_MAX).map((one) => redactUrls(one))
  }
}

/** The API server asks for seconds. What asks for more may be a webhook, whose trouble is with one object alone, or a proxy. */
const RETRY_AFTER_MAX_MS = 10_000
/** A refusal of a spec may have one for each of its fields. */
const CAUSES_MAX = 100

export function isApiError(error: unknown, ...reasons: ApiErrorReason[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason))
}

/** The namespace is being deleted: nothing can be created in it any more. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isApiError(error) &&
    (error.serverReason === 'NamespaceTerminating' || error.causes.includes('NamespaceTerminating'))
  )
}

/** Sorts an HTTP status and the server's reason into an {@link ApiErrorReason}. */
export function classify(status: number, serverReason: string): ApiErrorReason {
  switch (status) {
    case 404:
      return 'NotFound'
    case 409:
      return serverReason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict'
    case 410:
      return 'Expired'
    case 408:
    case 429:
      return 'Unavailable'
    default:
      return status >= 500 ? 'Unavailable' : 'Rejected'
  }
}
