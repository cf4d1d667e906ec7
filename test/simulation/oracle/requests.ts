import type { Commit, RequestInfo } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import type { Invariant } from './oracle.ts'

const WRITES: ReadonlySet<RequestInfo['verb']> = new Set(['replace', 'replaceStatus', 'mergePatch'])

/**
 * Invariant 7: every write changes something. The API server answers one that changes nothing like any other, so only the number of requests shows
 * it. Every write names the version that it is based on, so a stale cache is no excuse.
 */
export class RequestOracle {
  readonly #report: (invariant: Invariant, message: string) => void
  /** Author of the last commit, until its request is answered. */
  #author: string | undefined

  constructor(report: (invariant: Invariant, message: string) => void) {
    this.#report = report
  }

  onCommit({ actor }: Commit): void {
    this.#author = actor
  }

  onRequest({ actor, verb, resource, key }: RequestInfo, code: string): void {
    const hasChanged = this.#author === actor
    this.#author = undefined
    if (hasChanged || code !== '200' || !isOperator(actor) || !WRITES.has(verb)) return
    this.#report(7, `${verb} of ${resource.kind} ${key} changes nothing`)
  }
}
