import type { KubeletOptions } from './kubelet.ts'

/** Durations in milliseconds. */
export interface CdiOptions extends KubeletOptions {
  /** How often an importer's progress is read. */
  readonly progressMs: number
  /** How long "Scratch space required" shows. */
  readonly scratchMs: number
  /** How long the prime claim outlives the import. */
  readonly primeLingerMs: number
  /** From a helper claim with the data of a clone to a finished clone. */
  readonly cloneMs: number
  /** How long a clone's disk is made bigger, or waits for its node. */
  readonly prepareMs: number
  /** How long a clone takes that has to be copied byte by byte. */
  readonly copyMs: number
  /** How often its controller renews its Lease; 0 where it has none. */
  readonly leaseRenewMs: number
  /** How often a creation that a quota refused is tried again. */
  readonly retryMs: number
}
