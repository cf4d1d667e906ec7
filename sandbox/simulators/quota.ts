import { isApiError } from '../../operator/kube/api-error.ts'

/** Whether a ResourceQuota refused a creation. */
export function isQuota(error: unknown): error is Error {
  return isApiError(error, 'Rejected') && error.status === 403 && error.message.includes('exceeded quota')
}

/** What the API server says of a claim that a ResourceQuota refuses. */
export function quotaText(key: string): string {
  const name = key.slice(key.indexOf('/') + 1)
  return `persistentvolumeclaims "${name}" is forbidden: exceeded quota: storage, requested: requests.storage=1Gi, used: requests.storage=1Gi, limited: requests.storage=1Gi`
}
