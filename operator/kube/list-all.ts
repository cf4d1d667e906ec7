import { isApiError } from './api-error.ts'
import type { KubeClient, ListOptions } from './kube-client.ts'
import type { KubeObject, ResourceType } from './kube-object.ts'

const PAGE_SIZE = 500

/** All objects of a live list, page by page; none of a kind that is not installed. Throws ApiError. */
export async function* listAll(
  client: KubeClient,
  type: ResourceType,
  selection: ListOptions,
): AsyncGenerator<KubeObject> {
  let continueToken: string | undefined
  do {
    try {
      const more = continueToken === undefined ? {} : { continueToken }
      const page = await client.list(type, { ...selection, ...more, limit: PAGE_SIZE })
      yield* page.items
      continueToken = page.continueToken
    } catch (error) {
      if (isApiError(error, 'NotFound')) return
      throw error
    }
  } while (continueToken !== undefined)
}
