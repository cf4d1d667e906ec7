import { sleep, systemClock } from '../../operator/base/clock.ts'
import { type ApiErrorReason, isApiError } from '../../operator/kube/api-error.ts'

/** A minute and more: two busy cores need seconds to compile admission policies. */
const TRIES = 1_200
const PAUSE_MS = 50

/** Repeats a request while the API server refuses it for one of these reasons. For requests where no watch shows when they succeed. */
export async function persist<T>(
  what: string,
  reasons: readonly ApiErrorReason[],
  request: () => Promise<T>,
): Promise<T> {
  let last: unknown
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return await request()
    } catch (error) {
      if (!isApiError(error, ...reasons)) throw error
      last = error
    }
    await sleep(systemClock, PAUSE_MS)
  }
  throw new Error(`tried ${TRIES} times in vain until ${what}; the last answer: ${String(last)}`)
}
