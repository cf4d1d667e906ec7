import { Controller, type ControllerOptions } from './controller.ts'
import type { Services } from './services.ts'
import { WorkQueue } from './work-queue.ts'

export type LiveReadServices = Omit<Services, 'events'>

/** For loops whose reads concern individual objects. */
export interface LiveReadLoopOptions extends LiveReadServices {
  /** Called with the `<namespace>/<name>` of each object about which the findings changed. */
  readonly onChange: (key: string) => void
}

/** Runs live reads next to a controller, one at a time, for data that is not worth a watch. Subclasses define what to read. */
export class LiveReadLoop extends Controller {
  readonly #queue: WorkQueue

  /** `name`: in logs and metrics. `read`: if it throws, it is retried with increasing delay. `groupOf`: groups of keys take turns. */
  constructor(
    options: LiveReadServices,
    name: string,
    read: ControllerOptions['reconcile'],
    groupOf: (key: string) => string = () => '',
  ) {
    const queue = new WorkQueue(options.clock, { groupOf })
    const metrics = options.runtimeMetrics.forController(name)
    super({ ...options, name, queue, reconcile: read, workers: 1, metrics })
    this.#queue = queue
  }

  protected readAfter(key: string, ms: number): void {
    this.#queue.addAfter(key, ms)
  }
}
