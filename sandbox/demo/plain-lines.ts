import type { Entry } from './facts.ts'
import { ledgerOf } from './facts.ts'

/** One sentence for each thing that happens, the same for a pipe and for the last lines of the live view. */

const REASONS_OF_PHASE: ReadonlySet<string> = new Set(['Queued', 'Syncing', 'Snapshotting', 'Synced'])

/** What is new about an object; undefined when nothing is that people would want to hear of. */
export function describe({ fact, isDeleted }: Entry, before: Entry['fact'] | undefined): string | undefined {
  if (fact.kind === 'configMap') {
    const limit = ledgerOf(fact)?.limit
    const last = before?.kind === 'configMap' ? ledgerOf(before)?.limit : undefined
    return limit === undefined || limit === last ? undefined : `limit in force: ${limit}`
  }
  if (fact.kind !== 'image') return undefined
  const { name } = fact.metadata
  if (isDeleted) return `${name}: gone`
  const { phase, message = '' } = fact.status
  const last = before?.kind === 'image' ? before : undefined
  if (phase === undefined || (phase === last?.status.phase && fact.reason === last.reason)) return undefined
  const reason = REASONS_OF_PHASE.has(fact.reason) ? '' : ` (${fact.reason})`
  return `${name}: ${phase}${reason}: ${message}`
}

/** `12:04:31.204  sentence`, in one line and without control characters, wherever the text came from. */
export function plainLine(at: Date, text: string): string {
  return `${at.toISOString().slice(11, 23)}  ${withoutControls(text)}`
}

/** Status messages quote servers; what those send must not steer a terminal. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

/** The table at the end; long details are broken to the width. */
export function summaryLines(
  rows: readonly { readonly name: string; readonly held: boolean; readonly detail: string }[],
  width: number,
): string[] {
  const nameWidth = Math.max('what was checked'.length, ...rows.map(({ name }) => name.length))
  const indent = 8 + nameWidth + 2
  const line = (held: string, name: string, detail: string) => {
    const [first = '', ...rest] = wrap(withoutControls(detail), Math.max(20, width - indent))
    return [held.padEnd(8) + name.padEnd(nameWidth + 2) + first, ...rest.map((part) => ' '.repeat(indent) + part)]
  }
  return [
    ...line('result', 'what was checked', 'what was seen'),
    '-'.repeat(Math.min(width, indent + 40)),
    ...rows.flatMap(({ name, held, detail }) => line(held ? 'ok' : 'FAILED', name, detail)),
  ]
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
