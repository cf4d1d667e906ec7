import { Controller } from './controller.ts'
import type { Services } from './services.ts'
import type { Wake } from './wake.ts'
import { WorkQueue } from './work-queue.ts'

export type LookServices = Omit<Services, 'events'>

/** Of those whose looks concern objects. */
export interface LookLoopOptions extends LookServices {
  /** Called with the `<namespace>/<name>` of each object of which something else is known. */
  readonly onNews: (key: string) => void
}

/** Live looks beside a controller, one after the other: what they ask for is not worth a watch. Kinds of looks extend it. */
export class LookLoop {
  readonly #queue: WorkQueue
  readonly #controller: Controller

  /**
   * @param name in logs and metrics
   * @param look Throws ApiError; it is repeated then, later each time
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

  /** Serves until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal)
  }
}
