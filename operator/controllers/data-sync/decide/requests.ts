import { ANNOTATIONS } from '@open-terrain/constructs'
import { memoized, shortHash } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import type { Wish } from '../world.ts'

/** How many requests an image remembers of DataSyncs that do not share it any more. */
const FORMER_MAX = 20

/**
 * Returns the requests that have not reached an image yet, as annotations for it, or undefined if all have.
 *
 * Any new value is a request. An image keeps a fingerprint of the last request of each kind from each DataSync, also from some that are gone: each
 * reaches it once, several DataSyncs do not undo each other's requests, and a request that a person makes on the image itself stays. Of requests
 * that arrive together the greatest value counts, which is the latest if the values are times.
 * @param asking wishes of the DataSyncs whose requests reach the image now
 * @param all wishes of all DataSyncs that share the image
 */
export function newRequests(
  asking: readonly Wish[],
  all: readonly Wish[],
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> | undefined {
  const entries = annotations[ANNOTATIONS.requestsReached]?.split(',').map((entry) => entry.split(':')) ?? []
  // An entry without a DataSync is of an earlier version of the operator.
  const before = new Map(entries.map(([by = '', mark = by]) => [by, mark]))
  const reached = new Set(before.values())
  const arriving = asking.flatMap(marked).filter(({ mark }) => !reached.has(mark))
  if (arriving.length === 0) return undefined
  for (const { mark } of arriving) reached.add(mark)
  const present = all.flatMap(marked).filter(({ mark }) => reached.has(mark))
  const known = new Map(present.map(({ by, mark }) => [by, mark]))
  const former = [...before].filter(([by]) => !known.has(by)).slice(-FORMER_MAX)
  const records = [...former, ...[...known].toSorted()].map((entry) => entry.join(':'))
  const requests = arriving.map(({ request }) => request).toSorted(([, one], [, other]) => compareTexts(one, other))
  return { ...Object.fromEntries(requests), [ANNOTATIONS.requestsReached]: records.join(',') }
}

/** The requests of a DataSync, with fingerprints of who asks for what, and of the value. */
const marked = memoized(({ dataSync, requests }: Wish) =>
  Object.entries(requests).map((request) => {
    return { request, by: shortHash([dataSync, request[0]]), mark: shortHash(request) }
  }),
)
