import type { KubeletOptions } from './kubelet.ts'

/** Durations in milliseconds. */
export interface CdiOptions extends KubeletOptions {
  /** How often an importer's progress is read. */
  readonly progressMs: number
  /** How long "Scratch space required" shows. */
  readonly scratchMs: number
  /** How long the prime claim outlives the import. */
  readonly primeLingerMs: number
  /** How often a creation that a quota refused is tried again. */
  readonly retryMs: number
}
