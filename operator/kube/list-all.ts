import { isApiError } from './api-error.ts'
import type { KubeClient, ListOptions, ListPage } from './kube-client.ts'
import type { KubeObject, ResourceType } from './kube-object.ts'

/** Objects of the first page, of which nobody knows how large they are. */
const FIRST_PAGE = 50
const PAGE_MAX = 500
const GROWTH = 4
/** What a page is to have: the API server holds all of it in memory, and sends it within the time of a request. */
const PAGE_BYTES = 8 * 2 ** 20

/** What is asked for, and what of each object is kept: the rest of it goes before the next one is read. */
export type Listing<T> = Omit<ListOptions, 'limit' | 'continueToken' | 'project'> & {
  readonly project: (object: KubeObject) => T
}

/**
 * A live list page by page. Pages are as long as the objects before them allow: many small ones, or few of a megabyte. Throws
 * ApiError.
 */
export async function* listPages<T>(
  client: KubeClient,
  type: ResourceType,
  listing: Listing<T>,
): AsyncGenerator<ListPage<T>> {
  let limit = FIRST_PAGE
  let continueToken: string | undefined
  do {
    const more = continueToken === undefined ? {} : { continueToken }
    const page = (await client.list(type, { ...listing, ...more, limit })) as ListPage<unknown> as ListPage<T>
    yield page
    limit = nextLimit(limit, page)
    continueToken = page.continueToken
  } while (continueToken !== undefined)
}

/** What is kept of all objects of a live list; nothing of a kind that is not installed. Throws ApiError. */
export async function* listAll<T>(client: KubeClient, type: ResourceType, listing: Listing<T>): AsyncGenerator<T> {
  try {
    for await (const { items } of listPages(client, type, listing)) yield* items
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

/** The same, when all pages are there. Throws ApiError. */
export async function listWhole<T>(client: KubeClient, type: ResourceType, listing: Listing<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of listAll(client, type, listing)) all.push(one)
  return all
}

function nextLimit(limit: number, { bytes = 0, items }: ListPage<unknown>): number {
  const fitting = (PAGE_BYTES * items.length) / Math.max(1, bytes)
  return Math.max(1, Math.min(limit * GROWTH, PAGE_MAX, Math.floor(fitting)))
}
