const SHOWN_CHARACTERS = 4_000

/** Returns the end of the output of a process, for an error message. */
export function tailOf(output: string): string {
  return output.slice(-SHOWN_CHARACTERS)
}
