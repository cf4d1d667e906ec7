import type { Clock } from '../base/clock.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { Logger } from './log.ts'

/** The dependencies of nearly every component of this process. */
export interface Basics {
  readonly client: KubeClient
  readonly clock: Clock
  /** From 0 to 1, as Math.random. */
  readonly random: () => number
  readonly log: Logger
}
