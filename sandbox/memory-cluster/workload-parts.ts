import type { ApiServer } from './api-server.ts'
import type { ObjectStore } from './object-store.ts'

/** Dependencies of the Deployment and ReplicaSet controllers. */
export interface WorkloadParts {
  readonly store: ObjectStore
  readonly server: ApiServer
  /** Runs work after a short delay. */
  readonly later: (work: () => void) => void
  readonly after: (delayMs: number, work: () => void) => void
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The current time in RFC 3339, in whole seconds. */
  readonly timestamp: () => string
}
