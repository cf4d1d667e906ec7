import type { LookLoopOptions } from '../runtime/look-loop.ts'
import { EventLooks, type Told } from './event-looks.ts'
import { warningOf } from './pod-events.ts'

/** So long a start may take before anybody asks why. */
const PATIENCE_MS = 30_000
const EVENTS_MAX = 100

/** A pod that should have started. */
export interface HangingPod {
  readonly uid: string
  /** It hung before this process knew of it. */
  readonly hasHung: boolean
}

/**
 * Looks live for what keeps the operator's pods from starting where their status does not say it: a volume that cannot be mounted, a network that cannot be set up
 * ({@link EventLooks}: one short list a pod, after half a minute, and every half a minute as long as it hangs).
 */
export class PodWarnings extends EventLooks {
  /** @param name in logs and metrics */
  constructor(options: LookLoopOptions, name: string) {
    const [which, read] = ['type=Warning', warningOf] as const
    super({ ...options, name, patienceMs: PATIENCE_MS, which, eventsMax: EVENTS_MAX, read })
  }

  /**
   * What is known of the pods of an object that hang: `<reason>: <message>` of the Warning event that tells most. They are all that hang of it.
   * @param key of the object, which is looked at again when something else is known
   */
  look(key: string, namespace: string, pods: readonly HangingPod[]): ReadonlyMap<string, Told> {
    const hanging = new Set(pods.map(({ uid }) => uid))
    for (const uid of this.idsOf(key)) if (!hanging.has(uid)) this.drop(uid)
    return new Map(pods.map((pod) => [pod.uid, this.note(pod.uid, { ...pod, key, namespace })]))
  }

  /** The object is gone. */
  forget(key: string): void {
    for (const uid of this.idsOf(key)) this.drop(uid)
  }
}
