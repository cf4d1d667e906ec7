import { EventReads, type Waiting } from '../../cluster/event-reads.ts'
import { warningOf } from '../../cluster/pod-events.ts'
import type { LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'

/** Finds why the pods of workspaces do not start if their status does not show it: a volume that cannot be mounted, or a network that cannot be set up. */
export class PodWarnings extends EventReads {
  constructor(options: LiveReadLoopOptions) {
    const what = { name: 'workspace-pods', patienceMs: 30_000, which: 'type=Warning', eventsMax: 100, read: warningOf }
    super({ ...options, ...what })
  }

  /**
   * Returns what is known about the hanging pods of an object: `<reason>: <message>` of the most relevant Warning. `pods` must list all of them.
   * @param key of the object, which is requeued when this changes
   */
  look(key: string, namespace: string, pods: readonly Pick<Waiting, 'uid' | 'hasHung'>[]) {
    const hanging = new Set(pods.map(({ uid }) => uid))
    for (const uid of this.idsOf(key)) if (!hanging.has(uid)) this.drop(uid)
    return new Map(pods.map((pod) => [pod.uid, this.note(pod.uid, { ...pod, key, namespace })]))
  }

  /** Stops tracking the pods of an object that is gone. */
  forget(key: string): void {
    for (const uid of this.idsOf(key)) this.drop(uid)
  }
}
