import { ApiError, type ApiErrorReason } from './api-error.ts'

const STATUS: Record<ApiErrorReason, number> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Rejected: 422,
  Unavailable: 503,
  NoAnswer: 0,
}

/** An answer of the API server as a test wants it. */
export function apiError(reason: ApiErrorReason, more: Partial<ConstructorParameters<typeof ApiError>[0]> = {}) {
  return new ApiError({ reason, status: STATUS[reason], message: `scripted ${reason}`, ...more })
}
