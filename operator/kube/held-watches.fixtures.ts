import { apiError } from './api-error.fixtures.ts'
import type { WatchEvent, WatchOptions } from './kube-client.ts'
import type { KubeObject } from './kube-object.ts'

type Frame = WatchEvent<KubeObject> | Error | 'end'

/** One open watch, in the hands of a test. */
export interface HeldWatch {
  readonly options: WatchOptions
  send(event: WatchEvent<KubeObject>): void
  end(): void
  break(error: Error): void
}

/** Watches that tell what a test sends, and nothing else: for tests of what reads them. */
export class HeldWatches {
  readonly opened: HeldWatch[] = []
  /** Whether a watch may begin with what exists; a test then sends that, too. */
  canStream = false

  async *watch(options: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>> {
    if (options.resourceVersion === undefined && !this.canStream) throw apiError('Rejected')
    const { signal } = options
    const frames: Frame[] = []
    let wake = Promise.withResolvers<void>()
    const add = (frame: Frame) => {
      frames.push(frame)
      wake.resolve()
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
      wake = Promise.withResolvers()
      await wake.promise
    }
  }
}
