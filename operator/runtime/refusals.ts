import { isApiError } from '../kube/api-error.ts'
import { FailureCount } from './failure-count.ts'
import { redactUrls } from './redact.ts'

/** The API server's last refusal of something that an object needs, in its own words, by uid of the object. */
export class Refusals {
  readonly #texts = new Map<string, string>()
  readonly #failures = new FailureCount()

  of(uid: string): string | undefined {
    return this.#texts.get(uid)
  }

  /** Returns whether the refusal is new. A different text does not count: one that always differs must not cause a loop. */
  note(uid: string, error: unknown): boolean {
    if (!this.#isRefusal(uid, error)) return false
    const isNew = !this.#texts.has(uid)
    this.#texts.set(uid, redactUrls(error.message))
    return isNew
  }

  /** Called when the write was accepted or the object is gone. Returns whether it was refused before. */
  clear(uid: string): boolean {
    this.#failures.forget(uid)
    return this.#texts.delete(uid)
  }

  /** A failing webhook counts as a refusal too, after repeated failures. */
  #isRefusal(uid: string, error: unknown): error is Error {
    return isApiError(error, 'Rejected') || (isApiError(error, 'Unavailable') && this.#failures.add(uid))
  }
}
