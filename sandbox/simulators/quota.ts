import { isApiError } from '../../operator/kube/api-error.ts'

/** Reports whether a ResourceQuota rejected a creation. */
export function isQuota(error: unknown): error is Error {
  return isApiError(error, 'Rejected') && error.status === 403 && error.message.includes('exceeded quota')
}

/** Returns the message of the API server for a claim that a ResourceQuota rejects. */
export function quotaText(key: string): string {
  const name = key.slice(key.indexOf('/') + 1)
  return `persistentvolumeclaims "${name}" is forbidden: exceeded quota: storage, requested: requests.storage=1Gi, used: requests.storage=1Gi, limited: requests.storage=1Gi`
}
