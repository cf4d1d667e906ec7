import type { PowerState } from '@open-terrain/constructs/operator'
import { firstFew } from '../operator/base/messages.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { type Lab, type LabChoice, labsOf } from './labs.ts'
import { shortDuration, shown, tableOf } from './table.ts'

export const OUTPUTS = ['table', 'wide', 'json', 'name'] as const
export type Output = (typeof OUTPUTS)[number]

/** One lab, as `ot labs -o json` prints it. Fields that nobody knows yet are absent. */
interface LabRow {
  readonly name: string
  readonly phase?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** Components that are ready, and that there are. */
  readonly ready?: number | undefined
  readonly total?: number | undefined
  /** Of those that are ready: members that are off. */
  readonly halted?: number | undefined
  /** Machines that are outdated, of all, such as 6/18. Absent: none is. */
  readonly outdated?: string | undefined
  readonly powerState: PowerState
  readonly waitingFor?: string | undefined
  /** When it ends, in RFC 3339. Absent: it has no end. */
  readonly expiresAt?: string | undefined
  /** RFC 3339. */
  readonly creationTimestamp?: string | undefined
}

/** Returns labs at a glance, as text for standard output. Throws CommandError and ApiError. */
export async function showLabs(client: KubeClient, choice: LabChoice, output: Output, now: number): Promise<string> {
  const isAll = choice.names.length === 0 && choice.selector === undefined
  return labsText(await labsOf(client, { ...choice, all: isAll }), output, now)
}

/** Returns labs at a glance as text. */
export function labsText(labs: readonly Lab[], output: Output, now: number): string {
  const rows = labs.map(rowOf)
  if (output === 'json') return `${JSON.stringify(rows, undefined, 2)}\n`
  if (output === 'name') return rows.map(({ name }) => `workspace.pelotech.ot/${name}\n`).join('')
  const isWide = output === 'wide'
  const headers = [
    'NAME',
    'PHASE',
    'REASON',
    'READY',
    'OUTDATED',
    'WAITING',
    'LEFT',
    'AGE',
    ...(isWide ? ['MESSAGE'] : []),
  ]
  const cells = rows.map((row) => [...cellsOf(row, now), ...(isWide ? [row.message ?? ''] : [])])
  return tableOf(headers, cells) + (rows.length > 1 ? `\n${glanceAt(rows, now)}` : '')
}

function rowOf({ metadata, spec, status }: Lab): LabRow {
  const { phase, reason, message, counts, outdated, waitingFor, expiresAt } = status ?? {}
  return {
    name: metadata.name,
    phase: metadata.deletionTimestamp === undefined ? phase : 'Terminating',
    reason,
    message,
    ready: counts?.ready,
    total: counts?.total,
    halted: counts?.halted,
    outdated,
    powerState: spec?.powerState ?? 'Running',
    waitingFor,
    expiresAt,
    creationTimestamp: metadata.creationTimestamp,
  }
}

function cellsOf(row: LabRow, now: number): string[] {
  const { name, phase, reason, ready, total, outdated, waitingFor, expiresAt, creationTimestamp } = row
  const count = total === undefined ? '' : `${ready}/${total}`
  const left = expiresAt === undefined ? '' : shortDuration(Date.parse(expiresAt) - now)
  const age = creationTimestamp === undefined ? '' : shortDuration(now - Date.parse(creationTimestamp))
  return [name, phase ?? '', reason ?? '', count, outdated ?? '', waitingFor ?? '', left, age]
}

/** What labs wait for that the lines below a table name, and labs in one of them. */
const WAITED_FOR_MAX = 3
const NAMES_MAX = 5

/** Returns a class at a glance: how many labs are how, what most of them wait for, and which ends next. */
function glanceAt(rows: readonly LabRow[], now: number): string {
  const waiting = Map.groupBy(
    rows.filter(({ waitingFor }) => waitingFor !== undefined),
    ({ waitingFor = '' }) => waitingFor,
  )
  const most = [...waiting].toSorted(([, one], [, other]) => other.length - one.length).slice(0, WAITED_FOR_MAX)
  const waits = most.map(([what, those]) => {
    const names = those.map(({ name }) => name)
    return `waiting for ${what}: ${firstFew(names, NAMES_MAX)}`
  })
  const outdated = rows.filter((row) => row.outdated !== undefined).length
  const next = rows
    .filter(({ expiresAt = '' }) => Date.parse(expiresAt) > now)
    .toSorted((one, other) => Date.parse(one.expiresAt ?? '') - Date.parse(other.expiresAt ?? ''))[0]
  const lines = [
    summaryOf(rows),
    ...waits,
    ...(outdated === 0 ? [] : [`with outdated machines: ${outdated}`]),
    ...(next === undefined
      ? []
      : [`next to end: ${next.name}, in ${shortDuration(Date.parse(next.expiresAt ?? '') - now)}`]),
  ]
  return lines.map((line) => `${shown(line)}\n`).join('')
}

/** Returns how many labs are in which phase: `40 labs: 38 Ready (3 off), 2 Provisioning`. */
function summaryOf(rows: readonly LabRow[]): string {
  const phases = Map.groupBy(rows, ({ phase = 'new' }) => phase)
  const parts = [...phases].map(([phase, those]) => {
    const off = those.filter(({ reason }) => reason === 'Halted' || reason === 'Expired').length
    return `${those.length} ${phase}${phase === 'Ready' && off > 0 ? ` (${off} off)` : ''}`
  })
  return `${rows.length} labs: ${parts.join(', ')}`
}
