import type { LookLoopOptions } from '../runtime/look-loop.ts'
import { EventLooks, type EventText } from './event-looks.ts'
import { warningOf } from './pod-events.ts'

/** How long a start may take before its Events are listed. */
const PATIENCE_MS = 30_000
const EVENTS_MAX = 100

/** A pod that should have started. */
export interface HangingPod {
  readonly uid: string
  /** The pod hung before this process knew of it. */
  readonly hasHung: boolean
}

/**
 * Finds by live reads why the operator's pods do not start if their status does not show it: a volume that cannot be mounted, or a network that
 * cannot be set up ({@link EventLooks}: one short list per pod, after half a minute and then every half minute while it hangs).
 */
export class PodWarnings extends EventLooks {
  /** @param name in logs and metrics */
  constructor(options: LookLoopOptions, name: string) {
    const [which, read] = ['type=Warning', warningOf] as const
    super({ ...options, name, patienceMs: PATIENCE_MS, which, eventsMax: EVENTS_MAX, read })
  }

  /**
   * Returns what is known about the hanging pods of an object: `<reason>: <message>` of the most relevant Warning. `pods` must list all of them.
   * @param key of the object, which is requeued when this changes
   */
  look(key: string, namespace: string, pods: readonly HangingPod[]): ReadonlyMap<string, EventText> {
    const hanging = new Set(pods.map(({ uid }) => uid))
    for (const uid of this.idsOf(key)) if (!hanging.has(uid)) this.drop(uid)
    return new Map(pods.map((pod) => [pod.uid, this.note(pod.uid, { ...pod, key, namespace })]))
  }

  /** Stops tracking the pods of an object that is gone. */
  forget(key: string): void {
    for (const uid of this.idsOf(key)) this.drop(uid)
  }
}
