import { isApiError } from '../../operator/kube/api-error.ts'

/** Whether a ResourceQuota refused a creation. */
export function isQuota(error: unknown): error is Error {
  return isApiError(error, 'Rejected') && error.status === 403 && error.message.includes('exceeded quota')
}
