import type { ApiServer } from './api-server.ts'
import type { ObjectStore } from './object-store.ts'

/** Dependencies of the controllers of Deployments, ReplicaSets and Jobs. */
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

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
/** The longest name of an owner that leaves room for the suffix. */
const NAME_MAX = 57

/** Returns a name as the API server makes it of `generateName`, for a pod of an owner. */
export function podNameFrom(owner: string, random: () => number): string {
  const suffix = Array.from({ length: 5 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('')
  return `${owner.slice(0, NAME_MAX)}-${suffix}`
}
