import { ANNOTATIONS, shortHash } from '@open-terrain/constructs'
import { memoized } from '../../../runtime/memoized.ts'
import type { Wish } from '../world.ts'

/**
 * The requests that have not reached an image yet, as annotations for it; undefined where all have.
 *
 * Any new value is a request. So an image keeps fingerprints of those that it was given: each reaches it once, several DataSyncs do not undo
 * each other's, and what a person asks of the image itself stays. Of requests that arrive together the greatest counts, which is the latest
 * where they are times.
 * @param asking those whose requests reach the image now
 * @param all those that share the image: what of theirs has reached it is remembered
 */
export function newRequests(
  asking: readonly Wish[],
  all: readonly Wish[],
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> | undefined {
  const reached = new Set(annotations[ANNOTATIONS.requestsReached]?.split(','))
  const requestsOf = (wishes: readonly Wish[]) => wishes.flatMap(({ requests }) => withMarks(requests))
  const arriving = requestsOf(asking).filter(({ mark }) => !reached.has(mark))
  if (arriving.length === 0) return undefined
  const known = requestsOf(all).filter(({ mark }) => reached.has(mark))
  const marks = new Set([...known, ...arriving].map(({ mark }) => mark))
  return {
    ...Object.fromEntries(
      arriving.map(({ request }) => request).toSorted(([, one], [, other]) => (one < other ? -1 : 1)),
    ),
    [ANNOTATIONS.requestsReached]: [...marks].toSorted().join(','),
  }
}

/** The requests of a DataSync, each with its fingerprint. They are the same for all of its images, of which there may be a hundred. */
const withMarks = memoized((requests: Wish['requests']) =>
  Object.entries(requests).map((request) => ({ request, mark: shortHash(request) })),
)
