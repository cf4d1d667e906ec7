import type { ApiServer } from './api-server.ts'
import type { ObjectStore } from './object-store.ts'

/** What the controllers of Deployments and ReplicaSets work with. */
export interface WorkloadParts {
  readonly store: ObjectStore
  readonly server: ApiServer
  /** Runs what is to be done, a moment later. */
  readonly later: (work: () => void) => void
  readonly after: (delayMs: number, work: () => void) => void
  /** 0 to below 1. */
  readonly random: () => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Of now, in RFC 3339 and whole seconds. */
  readonly timestamp: () => string
}
