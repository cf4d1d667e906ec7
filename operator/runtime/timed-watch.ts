import type { Selection, WatchEvent } from '../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import type { Basics } from './basics.ts'

/** The server ends a watch after about this time, nearly always with a bookmark, so the next watch starts from a fresh version. */
const WATCH_SECONDS = 45
/** A watch that is still open this long after its timeout has silently lost its server. */
const GRACE_SECONDS = 8

export interface TimedWatchOptions extends Omit<Basics, 'log'> {
  readonly type: ResourceType
  readonly selection?: Selection
}

/** Yields the events after a version; without one, every existing object first. Ends when the server ends it, or is overdue. Throws ApiErrors. */
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
