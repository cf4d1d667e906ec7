import type { Basics } from './basics.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { RuntimeMetrics } from './metrics.ts'

/** The dependencies of every controller. */
export interface Services extends Basics {
  readonly events: EventRecorder
  readonly runtimeMetrics: RuntimeMetrics
}
