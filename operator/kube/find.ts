import { isApiError } from './api-error.ts'
import type { KubeClient, RequestOptions } from './kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'

/** One object by a live look; undefined where there is none. Throws ApiError. */
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
