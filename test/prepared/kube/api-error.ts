import { ApiError, type ApiErrorReason } from '../../../operator/kube/api-error.ts'

const STATUS: Record<ApiErrorReason, number> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Rejected: 422,
  Unavailable: 503,
  NoAnswer: 0,
}

/** Returns the error that a failed API request with this reason throws. */
export function apiError(reason: ApiErrorReason, more: Partial<ConstructorParameters<typeof ApiError>[0]> = {}) {
  return new ApiError({ reason, status: STATUS[reason], message: `scripted ${reason}`, ...more })
}
