import { shortDuration } from '../../table.ts'
import type { Row } from '../rows.ts'

/** How something is, in one of five ways. Each has a colour, a sign and a word, so that nobody needs the colour. */
export type State = 'good' | 'busy' | 'bad' | 'off' | 'unknown'

const BY_PHASE: Readonly<Record<string, State>> = {
  Ready: 'good',
  Succeeded: 'good',
  Failed: 'bad',
  Refused: 'bad',
  Provisioning: 'busy',
  Pending: 'busy',
  Queued: 'busy',
  Syncing: 'busy',
  Snapshotting: 'busy',
  Waiting: 'busy',
  InProgress: 'busy',
  Running: 'busy',
  Terminating: 'busy',
}

export const SIGNS: Readonly<Record<State, string>> = { good: '●', busy: '◐', bad: '✕', off: '○', unknown: '?' }

export function stateOf({ phase, isOff }: Pick<Row, 'phase' | 'isOff'>): State {
  const state = stateOfPhase(phase)
  return isOff === true && state === 'good' ? 'off' : state
}

export function stateOfPhase(phase: string | undefined): State {
  return BY_PHASE[phase ?? ''] ?? 'unknown'
}

/** Returns the word for how something is: its phase, or what is to be known beside that. */
export function wordFor({ phase, isOff }: Pick<Row, 'phase' | 'isOff'>): string {
  if (phase === undefined) return 'not seen yet'
  return isOff === true && phase === 'Ready' ? 'Off' : phase
}

/** Returns how long ago a time is, or how far ahead, in the largest unit that fits: `3d`. Empty without a time. */
export function agoOf(time: string | undefined, now: number): string {
  return time === undefined ? '' : shortDuration(Math.abs(now - Date.parse(time)))
}

/** Reports whether a row has all words of a filter, in its name, namespace, phase, reason, message or labels. */
export function isMatch(row: Row, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const labels = Object.entries(row.labels ?? {}).map(([key, value]) => `${key}=${value}`)
  const text = [row.key, wordFor(row), row.phase, row.reason, row.message, ...labels].join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}

export function wordsOf(filter: string): readonly string[] {
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
