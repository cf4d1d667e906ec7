/** How `ot` ends, for scripts. docs/cli.md lists them too. */
export const EXIT_CODES = {
  /** All was done, or was so already. */
  done: 0,
  /** At least one object could not be changed, has failed, or the API server could not be asked. */
  failed: 1,
  /** The command line is not right. Nothing was done. */
  usage: 2,
  /** What was asked for does not exist: no object of this name, or none that the selector selects. */
  notFound: 3,
  /** `--wait` has ended before all objects were so. What was asked for goes on. */
  timedOut: 4,
  /** Somebody was asked whether to go on, and did not say yes. Nothing was done. */
  declined: 5,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

/** Ends the command with one sentence. */
export class CommandError extends Error {
  readonly code: ExitCode

  constructor(code: keyof typeof EXIT_CODES, message: string) {
    super(message)
    this.name = 'CommandError'
    this.code = EXIT_CODES[code]
  }
}
