import type { KubeletOptions } from './kubelet.ts'

/** Durations in milliseconds. */
export interface CdiOptions extends KubeletOptions {
  /** How often an importer's progress is read. */
  readonly progressMs: number
  /** From the end of an importer that needs scratch space to its deletion, while "Scratch space required" is shown. */
  readonly scratchMs: number
  /** How long the prime claim outlives the import. */
  readonly primeLingerMs: number
  /** One in how many imports gets one more importer after it has succeeded, as on a busy node. Every other one of these hangs. 0: none. */
  readonly needlessImporters: number
  /** From a helper claim that has the data of a clone to a finished clone. */
  readonly cloneMs: number
  /** How long it takes to expand the disk of a clone, or to get its node. */
  readonly prepareMs: number
  /** Duration of a clone that must be copied byte by byte. */
  readonly copyMs: number
  /** How often a controller renews its Lease; 0 if it has none. */
  readonly leaseRenewMs: number
  /** How often a creation that a quota rejected is retried. */
  readonly retryMs: number
}
