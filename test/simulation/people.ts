import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../operator/kube/kube-object.ts'
import type { MemoryCluster } from '../../sandbox/memory-cluster/index.ts'

/** People whose wish cannot be granted yet ask again so often. */
export const ASK_AGAIN_MS = 1_000

export function find<T extends KubeObject>(
  { cluster }: { readonly cluster: MemoryCluster },
  type: ResourceType,
  key: ObjectKey,
): T | undefined {
  try {
    return cluster.admin.get<T>(type, key)
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    return undefined
  }
}

/** What the API server refuses, people leave. */
export function leaveRefused(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!isApiError(error)) throw error
  }
}
