import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../operator/kube/kube-object.ts'
import type { MemoryCluster } from '../../sandbox/memory-cluster/index.ts'

/** How often people try again what is not possible yet. */
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

/** Ignores errors of the API server: people give up what it refuses. */
export function leaveRefused(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!isApiError(error)) throw error
  }
}
