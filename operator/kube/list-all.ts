import { isApiError } from './api-error.ts'
import type { KubeClient, ListOptions, ListPage } from './kube-client.ts'
import type { KubeObject, ResourceType } from './kube-object.ts'

/** Objects on the first page. Their size is not known yet. */
const FIRST_PAGE = 50
const PAGE_MAX = 500
const GROWTH = 4
/** Target size of a page. The API server holds a whole page in memory and must send it before the request times out. */
const PAGE_BYTES = 8 * 2 ** 20

/** Which objects to list, and which part of each to keep. The rest of an object is dropped before the next one is read. */
export type Listing<T> = Omit<ListOptions, 'limit' | 'continueToken' | 'project'> & {
  readonly project: (object: KubeObject) => T
}

/**
 * Lists live, page by page. The size of the objects so far determines the page length: many small objects, or a few of a megabyte.
 * Throws ApiError.
 */
export async function* listPages<T>(
  client: KubeClient,
  type: ResourceType,
  listing: Listing<T>,
): AsyncGenerator<ListPage<T>> {
  let limit = FIRST_PAGE
  let continueToken: string | undefined
  do {
    const request: ListOptions = { ...listing, ...(continueToken !== undefined && { continueToken }), limit }
    const page = (await client.list(type, request)) as ListPage<unknown> as ListPage<T>
    yield page
    limit = nextLimit(limit, page)
    continueToken = page.continueToken
  } while (continueToken !== undefined)
}

/** Yields the kept part of each object of a live list; nothing if the kind is not installed. Throws ApiError. */
export async function* listAll<T>(client: KubeClient, type: ResourceType, listing: Listing<T>): AsyncGenerator<T> {
  try {
    for await (const { items } of listPages(client, type, listing)) yield* items
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

/** Like {@link listAll}, but resolves after the last page. Throws ApiError. */
export async function listWhole<T>(client: KubeClient, type: ResourceType, listing: Listing<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of listAll(client, type, listing)) all.push(one)
  return all
}

function nextLimit(limit: number, { bytes = 0, items }: ListPage<unknown>): number {
  const fitting = (PAGE_BYTES * items.length) / Math.max(1, bytes)
  return Math.max(1, Math.min(limit * GROWTH, PAGE_MAX, Math.floor(fitting)))
}
