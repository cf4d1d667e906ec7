import type { WatchEvent, WatchOptions } from '../../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { apiError } from './api-error.ts'

type Frame = WatchEvent<KubeObject> | Error | 'end'

/** One open watch that a test controls. */
export interface HeldWatch {
  readonly options: WatchOptions
  send(event: WatchEvent<KubeObject>): void
  end(): void
  break(error: Error): void
}

/** Watches that deliver only the events that a test sends, for tests of watch consumers. */
export class HeldWatches {
  readonly opened: HeldWatch[] = []
  /** Whether a watch may start with the existing objects. The test must send those, too. */
  canStream = false

  async *watch(options: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>> {
    if (options.resourceVersion === undefined && !this.canStream) throw apiError('Rejected')
    const { signal } = options
    const frames: Frame[] = []
    let requeue = Promise.withResolvers<void>()
    const add = (frame: Frame) => {
      frames.push(frame)
      requeue.resolve()
    }
    signal?.addEventListener('abort', () => add('end'), { once: true })
    this.opened.push({ options, send: add, end: () => add('end'), break: add })
    for (;;) {
      const frame = frames.shift()
      if (frame === 'end' || signal?.aborted) return
      if (frame instanceof Error) throw frame
      if (frame !== undefined) {
        yield frame
        continue
      }
      requeue = Promise.withResolvers()
      await requeue.promise
    }
  }
}
