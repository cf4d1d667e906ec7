import { writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** File to write to. Unset, nothing is written. */
const FILE = process.env['UNHANDLED_ERRORS']

/**
 * A reporter of Vitest that writes the errors outside of all tests (a rejection that nobody handles, a worker that dies)
 * as a JSON array of texts. They fail a run, and the JSON report of Vitest names none of them.
 */
export default class UnhandledErrors implements Reporter {
  onTestRunEnd(_modules: unknown, errors: Parameters<NonNullable<Reporter['onTestRunEnd']>>[1]): void {
    if (FILE === undefined) return
    const texts = errors.map((error) => {
      const cause = error.cause === undefined ? '' : `\ncause: ${error.cause.stack ?? error.cause.message}`
      return `${error['type'] ?? 'Unhandled Error'}: ${error.stack ?? error.message}${cause}`
    })
    writeFileSync(FILE, JSON.stringify(texts))
  }
}
