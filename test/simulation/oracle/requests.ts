import type { Commit, RequestInfo } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import type { Invariant } from './oracle.ts'

const WRITES: ReadonlySet<RequestInfo['verb']> = new Set(['replace', 'replaceStatus', 'mergePatch'])

/**
 * Invariant 7: no write changes nothing. The API server answers one that does as if it had been needed, so nothing but the number of
 * requests tells of it. Every write names the version that it is based on, so no stale cache is an excuse.
 */
export class RequestOracle {
  readonly #report: (invariant: Invariant, message: string) => void
  /** Who made the last commit, until the request behind it is answered. */
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
