import type { Selection, WatchEvent } from '../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import type { Basics } from './basics.ts'

/** A watch ends by itself after about so long, its last word nearly always a bookmark: the next one starts from a fresh version. */
const WATCH_SECONDS = 45
/** A watch that is still open so long after its end has lost its server without a word. */
const GRACE_SECONDS = 8

export interface TimedWatchOptions extends Omit<Basics, 'log'> {
  readonly type: ResourceType
  readonly selection?: Selection
}

/**
 * What the API server reports after a version, or without one of everything that exists first, until it ends the watch, or is overdue in doing so: then the watch
 * ends as if `signal` were aborted. Throws ApiErrors.
 */
export async function* timedWatch(
  { client, clock, random, type, selection }: TimedWatchOptions,
  resourceVersion: string | undefined,
  signal: AbortSignal,
): AsyncIterable<WatchEvent<KubeObject>> {
  const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + random() / 10))
  const overdue = new AbortController()
  const cancel = clock.setTimer(() => overdue.abort(), (timeoutSeconds + GRACE_SECONDS) * 1_000)
  try {
    yield* client.watch(type, {
      ...selection,
      ...(resourceVersion !== undefined && { resourceVersion }),
      timeoutSeconds,
      signal: AbortSignal.any([signal, overdue.signal]),
    })
  } finally {
    cancel()
  }
}
