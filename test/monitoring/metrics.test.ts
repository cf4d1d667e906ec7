import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REASON_HELP, VIRTUAL_MACHINE_REASON_HELP, WORKSPACE_REASON_HELP } from '@open-terrain/constructs/operator'
import { ALERTS, type AlertName } from '@open-terrain/constructs/platform'
import { beforeAll, describe, expect, it } from 'vitest'
import { ImageMetrics } from '../../operator/controllers/vm-disk-image/image-metrics.ts'
import { registeredMetrics } from '../../operator/registered-metrics.ts'
import { METRIC_LABELS } from '../../operator/runtime/metric-labels.ts'
import { RuntimeMetrics } from '../../operator/runtime/metrics.ts'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../prepared/operator/scripted-operator.ts'

const DOCS = readFileSync(join(import.meta.dirname, '../../crds-gen/generated/metrics.md'), 'utf8')
const NAMES = Object.keys(ALERTS) as AlertName[]
const ATTEMPT = {
  number: 1,
  revision: '01234567',
  outcome: 'Failed',
  message: 'it failed',
  startedAt: '2026-01-01T00:00:00.000Z',
  durationSeconds: 1,
  dataVolumeUID: 'dv',
} as const

/** The metrics that the operator serves, whether or not anything has happened. */
let served: readonly string[] = []
beforeAll(async () => {
  const text = await scriptedOperator(new ScriptedClient()).metrics.render()
  served = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)
})

describe('the metrics', () => {
  it.each(NAMES)('have what %s reads', (name) => {
    const read = ALERTS[name].expr.match(/\b(ot_\w+|leader_election_master_status)\b/g) ?? []
    expect(read.length).toBeGreaterThan(0)
    expect(read.filter((metric) => !served.includes(metric))).toEqual([])
  })

  it('are in the generated reference, each of them and no other one', () => {
    const described = DOCS.split('\n## Labels')[0]?.match(/^\| `\w+`/gm) ?? []
    expect(described.map((cell) => cell.slice(3, -1)).toSorted()).toEqual(served.toSorted())
  })

  it('have labels of the catalogue alone, whose values are few, whatever statuses say', async () => {
    const metrics = new RuntimeMetrics()
    const images = new ImageMetrics(metrics.registry, { now: () => 0 })
    const attempts = Array.from({ length: 1_000 }, (_, at) => ({
      ...ATTEMPT,
      reason: `Made${at}`,
      endedAt: `2026-01-01T00:00:00.${String(at).padStart(3, '0')}Z`,
    }))
    images.attempted([], attempts)
    const counted = await metrics.registry.getSingleMetric('ot_sync_attempts_total')?.get()
    const reasons = new Set(counted?.values.map(({ labels }) => labels['reason']))
    expect(reasons).toContain('Other')
    expect(reasons.size).toBeLessThanOrEqual(METRIC_LABELS.reason.most)
    for (const help of [REASON_HELP, VIRTUAL_MACHINE_REASON_HELP, WORKSPACE_REASON_HELP])
      expect(Object.keys(help).length).toBeLessThan(METRIC_LABELS.reason.most)
    for (const { name, labels } of registeredMetrics())
      expect(Object.keys(METRIC_LABELS), name).toEqual(expect.arrayContaining([...labels]))
  })
})
