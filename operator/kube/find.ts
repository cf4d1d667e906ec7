import { isApiError } from './api-error.ts'
import type { KubeClient, RequestOptions } from './kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'

/** Returns one object by a live read; undefined if it does not exist. Throws ApiError. */
export async function find<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  key: ObjectKey,
  options?: RequestOptions,
): Promise<T | undefined> {
  try {
    return await client.get<T>(type, key, options)
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}
