import { redactUrls } from '../base/messages.ts'

/** Outcome of a failed request, as far as the caller's next step depends on it. */
export type ApiErrorReason =
  /** 404, also for a kind that is not installed. */
  | 'NotFound'
  /** 409 on a create. */
  | 'AlreadyExists'
  /** 409: a precondition (resourceVersion, uid) does not hold. */
  | 'Conflict'
  /** 410: the resourceVersion or continue token is too old. */
  | 'Expired'
  /** 400, 403, 422 and other refusals. The same request will be refused again. */
  | 'Rejected'
  /** 429, 503 and other 5xx: retry later. */
  | 'Unavailable'
  /** No response: it is unknown whether a write happened. */
  | 'NoAnswer'

/**
 * An unsuccessful response of the API server, or a missing response. The message is redacted and cut so that people may read it: third-party
 * webhooks and admission policies can put any text of any length into it.
 */
export class ApiError extends Error {
  readonly reason: ApiErrorReason
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** Reason in the server's Status, such as `NamespaceTerminating` or `Forbidden`; empty if it has none. */
  readonly serverReason: string
  /** From Retry-After, in milliseconds, capped at 10 s. */
  readonly retryAfterMs: number | undefined
  /** `details.causes[].reason` of the server's Status. */
  readonly causes: readonly string[]

  constructor(
    init: Pick<ApiError, 'reason' | 'status' | 'message'> &
      Partial<Pick<ApiError, 'serverReason' | 'retryAfterMs' | 'causes' | 'cause'>>,
  ) {
    super(redactUrls(init.message), init.cause === undefined ? undefined : { cause: init.cause })
    this.name = 'ApiError'
    this.reason = init.reason
    this.status = init.status
    this.serverReason = redactUrls(init.serverReason ?? '')
    this.retryAfterMs = init.retryAfterMs && Math.min(init.retryAfterMs, RETRY_AFTER_MAX_MS)
    this.causes = (init.causes ?? []).slice(0, CAUSES_MAX).map((one) => redactUrls(one))
  }
}

/** The API server asks for seconds. A longer wait may come from a webhook, which may have a problem with one object only, or from a proxy. */
const RETRY_AFTER_MAX_MS = 10_000
/** The refusal of a spec can have one cause for each field. */
const CAUSES_MAX = 100

export function isApiError(error: unknown, ...reasons: ApiErrorReason[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason))
}

/** Reports whether the namespace is being deleted, so that nothing can be created in it. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isApiError(error) &&
    (error.serverReason === 'NamespaceTerminating' || error.causes.includes('NamespaceTerminating'))
  )
}

/** Reports whether a strict write was refused for a field that the served version of the kind does not have. */
export function isUnknownField({ status, message }: ApiError): boolean {
  return status === 400 && message.includes('strict decoding error')
}

/** Maps an HTTP status and the server's reason to an {@link ApiErrorReason}. */
export function classify(status: number, serverReason: string): ApiErrorReason {
  if (status === 404) return 'NotFound'
  if (status === 409) return serverReason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict'
  if (status === 410) return 'Expired'
  return status === 408 || status === 429 || status >= 500 ? 'Unavailable' : 'Rejected'
}
