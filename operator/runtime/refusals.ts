import { isApiError } from '../kube/api-error.ts'
import { FailureCount } from './failure-count.ts'
import { redactUrls } from './redact.ts'

/** What the API server refused last of what an object needs, in its own words, by uid of the object. */
export class Refusals {
  readonly #texts = new Map<string, string>()
  readonly #failures = new FailureCount()

  of(uid: string): string | undefined {
    return this.#texts.get(uid)
  }

  /** Returns whether that is news: a text that is never the same must not make a loop. */
  note(uid: string, error: unknown): boolean {
    if (!this.#isRefusal(uid, error)) return false
    const isNews = !this.#texts.has(uid)
    this.#texts.set(uid, redactUrls(error.message))
    return isNews
  }

  /** It was taken, or the object is gone. Returns whether it was refused before. */
  clear(uid: string): boolean {
    this.#failures.forget(uid)
    return this.#texts.delete(uid)
  }

  /** A webhook that does not work is an answer too, if it comes again and again. */
  #isRefusal(uid: string, error: unknown): error is Error {
    return isApiError(error, 'Rejected') || (isApiError(error, 'Unavailable') && this.#failures.add(uid))
  }
}
