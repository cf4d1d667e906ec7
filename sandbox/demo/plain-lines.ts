import {
  type ConfigMapFact,
  type DataSyncFact,
  type Entry,
  type Fact,
  type ImageFact,
  ledgerOf,
  type MachineFact,
  type WorkspaceFact,
} from './facts.ts'

/** One sentence for each event, the same for a pipe and for the last lines of the live view. */

const REASONS_OF_PHASE: ReadonlySet<string> = new Set(['Queued', 'Syncing', 'Snapshotting', 'Synced'])

/** Describes what is new about an object; undefined if it is nothing that people want to know. */
export function describe({ fact, isDeleted }: Entry, before: Fact | undefined): string | undefined {
  switch (fact.kind) {
    case 'configMap':
      return describeLimit(fact, before?.kind === 'configMap' ? before : undefined)
    case 'image':
      if (isDeleted) return `${fact.metadata.name}: gone`
      return describeImage(fact, before?.kind === 'image' ? before : undefined)
    case 'machine':
      if (isDeleted) return `${nameOf(fact)}: gone`
      return describeMachine(fact, before?.kind === 'machine' ? before : undefined)
    case 'dataSync':
      return describeDataSync(fact, before?.kind === 'dataSync' ? before : undefined)
    case 'workspace':
      return describeWorkspace(fact, isDeleted, before)
    default:
      return undefined
  }
}

function describeLimit(fact: ConfigMapFact, last: ConfigMapFact | undefined): string | undefined {
  const limit = ledgerOf(fact)?.limit
  return limit === undefined || limit === (last && ledgerOf(last)?.limit) ? undefined : `limit in force: ${limit}`
}

function describeImage({ metadata: { name }, status, reason, blocked }: ImageFact, last: ImageFact | undefined) {
  const { phase, message = '' } = status
  if (blocked !== undefined && last?.blocked === undefined) return `${name}: Terminating (DeletionBlocked): ${blocked}`
  if (phase === undefined || (phase === last?.status.phase && reason === last.reason)) return undefined
  const why = REASONS_OF_PHASE.has(reason) ? '' : ` (${reason})`
  return `${name}: ${phase}${why}: ${message}`
}

function describeMachine(fact: MachineFact, last: MachineFact | undefined): string | undefined {
  const { phase, message = '' } = fact.status
  const isSame = phase === last?.status.phase && fact.reason === last?.reason && hasPlace(fact) === hasPlace(last)
  return phase === undefined || isSame ? undefined : `${nameOf(fact)}: ${phase} (${fact.reason}): ${message}`
}

function describeDataSync(
  { metadata, status: { phase, ready, message = '' } }: DataSyncFact,
  last: DataSyncFact | undefined,
) {
  const isSame = phase === last?.status.phase && ready === last?.status.ready
  return phase === undefined || isSame ? undefined : `DataSync ${metadata.name}: ${phase} (${ready}): ${message}`
}

function describeWorkspace({ metadata, status }: WorkspaceFact, isDeleted: boolean, before: Fact | undefined) {
  if (isDeleted) return `Workspace ${metadata.name}: gone`
  const last = before?.kind === 'workspace' ? before : undefined
  const { phase, reason, ready, message = '' } = status
  const isSame = phase === last?.status.phase && reason === last?.status.reason && ready === last?.status.ready
  const share = ready === undefined ? '' : ` (${ready})`
  return phase === undefined || isSame ? undefined : `Workspace ${metadata.name}: ${phase}${share}: ${message}`
}

/** A machine can have the same name as its image. */
function nameOf({ metadata }: MachineFact): string {
  return `VirtualMachine ${metadata.name}`
}

/** Reports whether the image has a place in the queue. People want to know when it gets one. */
function hasPlace(fact: MachineFact | undefined): boolean {
  return fact?.status.image?.queuePosition !== undefined
}

/** Returns `12:04:31.204  sentence` in one line, without control characters, wherever the text came from. */
export function plainLine(at: Date, text: string): string {
  return `${at.toISOString().slice(11, 23)}  ${withoutControls(text)}`
}

/** Status messages quote servers. Text from servers must not control a terminal. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

/** Returns the table at the end. Long details are wrapped to the width. */
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
