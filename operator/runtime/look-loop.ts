import { Controller } from './controller.ts'
import type { Services } from './services.ts'
import type { Wake } from './wake.ts'
import { WorkQueue } from './work-queue.ts'

export type LookServices = Omit<Services, 'events'>

/** For loops whose reads concern individual objects. */
export interface LookLoopOptions extends LookServices {
  /** Called with the `<namespace>/<name>` of each object about which the findings changed. */
  readonly onChange: (key: string) => void
}

/** Runs live reads next to a controller, one at a time, for data that is not worth a watch. Subclasses define what to read. */
export class LookLoop {
  readonly #queue: WorkQueue
  readonly #controller: Controller

  /**
   * @param name in logs and metrics
   * @param look throws ApiError; it is then retried with increasing delay
   */
  constructor(
    options: LookServices,
    name: string,
    look: (key: string, signal: AbortSignal) => Promise<Wake | undefined>,
  ) {
    this.#queue = new WorkQueue(options.clock)
    const metrics = options.runtimeMetrics.forController(name)
    this.#controller = new Controller({ ...options, name, queue: this.#queue, reconcile: look, workers: 1, metrics })
  }

  protected lookAfter(key: string, ms: number): void {
    this.#queue.addAfter(key, ms)
  }

  /** Runs until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal)
  }
}
