const SHOWN_CHARACTERS = 4_000

/** The end of what a process has written: what an error needs. */
export function tailOf(output: string): string {
  return output.slice(-SHOWN_CHARACTERS)
}
