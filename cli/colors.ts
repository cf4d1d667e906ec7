/** How a state is shown on a terminal, by its word: those of our kinds, of their neighbours and of effects of a plan. */
const WORDS = {
  32: ['Ready', 'Succeeded', 'Running', 'Bound', 'Active', 'Synced', 'Taken', 'created'],
  31: ['Failed', 'Lost', 'Gone', 'deleted', 'CrashLoopBackOff', 'ImagePullBackOff', 'ErrImagePull'],
  36: ['Provisioning', 'Syncing', 'Snapshotting', 'InProgress', 'Starting', 'Cloning', 'Claimed', 'changed'],
  33: ['Queued', 'Paused', 'Pending', 'Terminating', 'RetryBackoff', 'SchedulingGated', 'Unknown'],
  2: ['Halted', 'Stopped'],
} as const
const ESCAPE = '\u001b['
const RESET = `${ESCAPE}0m`
const CODES: ReadonlyMap<string, string> = new Map(
  Object.entries(WORDS).flatMap(([code, words]) => words.map((word) => [word, `${ESCAPE}${code}m`] as const)),
)

/** A cell of a table that is such a word or begins with it, or what follows the name of an object: `lab-1: Ready, Halted`. */
const STATE = new RegExp(`(?<=^|  |: )(?:${[...CODES.keys()].join('|')})(?=$|  |, |\\u001b)`, 'gm')
/** What a story ends with. */
const HEADING = /^(?:Cause|What it means|What to do|Events|Note):/gm

/** Returns a text for people with its states in colours. Texts of others have lost what a terminal obeys before. */
export function colored(text: string): string {
  return text
    .replace(STATE, (word) => `${CODES.get(word) ?? ''}${word}${RESET}`)
    .replace(HEADING, (words) => `${ESCAPE}1m${words}${RESET}`)
}
