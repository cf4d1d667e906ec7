import { fullName } from '@open-terrain/constructs/infra'
import {
  DATA_SYNC_PHASES,
  DATA_SYNC_REASON_HELP,
  PHASES,
  REASON_HELP,
  type ReasonHelp,
  VIRTUAL_MACHINE_PHASES,
  VIRTUAL_MACHINE_REASON_HELP,
  WORKSPACE_PHASES,
  WORKSPACE_REASON_HELP,
  WORKSPACE_SNAPSHOT_PHASES,
  WORKSPACE_SNAPSHOT_REASON_HELP,
} from '@open-terrain/constructs/operator'
import type { AlertName } from '@open-terrain/constructs/platform'
import { inject, it } from 'vitest'
import { type RuleTests, testRules } from './promtool.ts'
import { renderedRules, rulesOf } from './rendered.ts'

const found = inject('prometheus')

interface Kind {
  readonly phases: object
  readonly reasons: Readonly<Record<string, ReasonHelp>>
}

const KINDS: Readonly<Record<string, Kind>> = {
  VMDiskImage: { phases: PHASES, reasons: REASON_HELP },
  DataSync: { phases: DATA_SYNC_PHASES, reasons: DATA_SYNC_REASON_HELP },
  VirtualMachine: { phases: VIRTUAL_MACHINE_PHASES, reasons: VIRTUAL_MACHINE_REASON_HELP },
  Workspace: { phases: WORKSPACE_PHASES, reasons: WORKSPACE_REASON_HELP },
  WorkspaceSnapshot: { phases: WORKSPACE_SNAPSHOT_PHASES, reasons: WORKSPACE_SNAPSHOT_REASON_HELP },
}
/** Alerts of objects in each phase. Those of any other one are of objects that are under way. */
const OF_PHASE: Readonly<Record<string, readonly AlertName[]>> = {
  Failed: ['RetriesExhausted', 'ObjectFailed'],
  Ready: ['ObjectWarned', 'ObjectBlocked'],
  Succeeded: ['ObjectWarned', 'ObjectBlocked'],
}

const RULES = renderedRules()

function testsOf(kind: string, phase: string): RuleTests {
  const { reasons } = KINDS[kind] as Kind
  const needsNobody = ({ remedy, isOffer }: ReasonHelp) => remedy.startsWith('No action needed') || isOffer === true
  const names = Object.entries(reasons)
  // A failure needs somebody whatever its reason is.
  const needing = names.filter(([, help]) => phase === 'Failed' || !needsNobody(help))
  const series = names.flatMap(([reason]) => {
    const labels = `namespace="n",pod="a",kind="${kind}",phase="${phase}",reason="${reason}"`
    const images = kind === 'VMDiskImage' && phase === 'Failed'
    return [
      { series: `ot_state_longest_seconds{${labels}}`, values: '172800+60x30' },
      ...(images ? [{ series: `ot_vmdi_failed{namespace="n",pod="a",reason="${reason}"}`, values: '1x30' }] : []),
    ]
  })
  const alerts = (OF_PHASE[phase] ?? ['ObjectBlocked']).map(fullName)
  const expr = `count by (reason) (ALERTS{alertstate="firing",alertname=~"${alerts.join('|')}"})`
  const exp_samples = needing.map(([reason]) => {
    // A bug cannot wait for a day.
    const isTwofold = reason === 'InternalError' && (phase === 'Ready' || phase === 'Succeeded')
    return { labels: `{reason="${reason}"}`, value: isTwofold ? 2 : 1 }
  })
  const promql_expr_test = [{ expr, eval_time: '25m', exp_samples }]
  const name = `a ${kind} that is ${phase}`
  return { rules: rulesOf(RULES, alerts), tests: [{ name, interval: '1m', input_series: series, promql_expr_test }] }
}

it.skipIf(found === undefined)(
  'an object in any phase fires an alert for each reason that needs somebody, and for no other',
  async () => {
    if (found === undefined || typeof found === 'string') throw new Error(found)
    const all = Object.entries(KINDS).flatMap(([kind, { phases }]) =>
      Object.keys(phases).map((phase) => testsOf(kind, phase)),
    )
    await testRules(found, ...all)
  },
)
