import { redactUrls } from '../base/messages.ts'
import { type ApiError, type ApiErrorReason, isApiError, isUnknownField } from '../kube/api-error.ts'

/** The API server's last refusal of something that an object needs, in its own words, by uid of the object. */
export class Refusals {
  readonly #refusals = new Map<string, { readonly text: string; readonly since: number }>()
  readonly #failures = new FailureCount()

  of(uid: string): string | undefined {
    return this.#refusals.get(uid)?.text
  }

  /** Returns since when writes are refused, in milliseconds; undefined if none is. */
  since(uid: string): number | undefined {
    return this.#refusals.get(uid)?.since
  }

  /**
   * Returns whether the refusal is new. A different text does not count: one that always differs must not cause a loop.
   * @param now in milliseconds
   */
  note(uid: string, error: unknown, now: number): boolean {
    if (!this.#failures.isAnswer(uid, error)) return false
    const since = this.since(uid)
    this.#refusals.set(uid, { text: redactUrls(refusalText(error)), since: since ?? now })
    return since === undefined
  }

  /** Called when the write was accepted or the object is gone. Returns whether it was refused before. */
  clear(uid: string): boolean {
    this.#failures.forget(uid)
    return this.#refusals.delete(uid)
  }
}

/** Returns what the API server says, and what to do where an older version of a neighbour does not have a field (`isStrict`). */
export function refusalText(error: ApiError): string {
  const { message } = error
  return isUnknownField(error)
    ? `upgrade what installed this kind, it lacks a field that is needed: ${message}`
    : message
}

/** After this many consecutive failures to execute a request, the API server counts as having answered. */
const ANSWERED_FAILURES = 4

/** Counts, by key, consecutive failures of the API server to execute a request, as with a webhook that fails. */
export class FailureCount {
  readonly #inARow = new Map<string, number>()

  /** Reports whether an error is a lasting answer: a refusal, one of `others`, or the last of several failures in a row. */
  isAnswer(key: string, error: unknown, ...others: ApiErrorReason[]): error is ApiError {
    if (isApiError(error, 'Rejected', ...others)) return true
    if (!isApiError(error, 'Unavailable')) return false
    const failures = (this.#inARow.get(key) ?? 0) + 1
    this.#inARow.set(key, failures)
    return failures >= ANSWERED_FAILURES
  }

  /** Called after a success, or when the object is gone. */
  forget(key: string): void {
    this.#inARow.delete(key)
  }
}
