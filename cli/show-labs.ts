import type { PowerState } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { type Lab, type LabChoice, labsOf } from './labs.ts'
import { shortDuration, tableOf } from './table.ts'

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
  const labs = await labsOf(client, { ...choice, all: isAll })
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
  return tableOf(headers, cells) + (rows.length > 1 ? `\n${summaryOf(rows)}\n` : '')
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

/** Returns how many labs are in which phase: `40 labs: 38 Ready (3 off), 2 Provisioning`. */
function summaryOf(rows: readonly LabRow[]): string {
  const phases = Map.groupBy(rows, ({ phase = 'new' }) => phase)
  const parts = [...phases].map(([phase, those]) => {
    const off = those.filter(({ reason }) => reason === 'Halted' || reason === 'Expired').length
    return `${those.length} ${phase}${phase === 'Ready' && off > 0 ? ` (${off} off)` : ''}`
  })
  return `${rows.length} labs: ${parts.join(', ')}`
}
