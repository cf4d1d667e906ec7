import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALERTS, type AlertName, fullName } from '@open-terrain/constructs/platform'
import { describe, expect, inject, it } from 'vitest'
import { type AlertCase, CASES, type Series } from './cases.ts'
import type { Prometheus } from './prometheus.ts'
import { promtool, testRules } from './promtool.ts'
import { renderedRules } from './rendered.ts'

const found = inject('prometheus')
const RULES = renderedRules()
const NAMES = Object.keys(ALERTS) as AlertName[]
/** Every five minutes of the time that the series of a case cover. */
const ALWAYS = Array.from({ length: 46 }, (_, at) => `${(at + 1) * 5}m`)

function prometheus(): Prometheus {
  if (found === undefined || typeof found === 'string') throw new Error(found)
  return found
}

const inputs = (series: Series) => Object.entries(series).map(([name, values]) => ({ series: name, values }))

function firing(name: AlertName, { labels = {}, summary, description }: AlertCase['fires']): object {
  const exp_labels = { severity: ALERTS[name].severity, ...labels }
  return { exp_labels, exp_annotations: { summary, description } }
}

/** Expectations for promtool: the alerts that fire at each of these times. */
function looks(name: AlertName, at: readonly string[], exp_alerts: readonly object[] = []): object[] {
  return at.map((eval_time) => ({ eval_time, alertname: fullName(name), exp_alerts }))
}

describe.skipIf(found === undefined)('the rules of the alerts', () => {
  it('pass the checks of Prometheus', async () => {
    const said = await promtool(prometheus(), ['check', 'rules', 'rules.yaml'], { 'rules.yaml': RULES })
    expect(said).toContain(`SUCCESS: ${NAMES.length} rules found`)
  })

  it.each(NAMES)('%s fires when it should, and not a minute earlier', async (name) => {
    const { fires } = CASES[name]
    const earlier = `${Number.parseInt(fires.at, 10) - 1}m`
    const alert_rule_test = [...looks(name, [earlier]), ...looks(name, [fires.at], [firing(name, fires)])]
    await testRules(prometheus(), RULES, [{ interval: '1m', input_series: inputs(fires.series), alert_rule_test }])
  })

  it.each(
    NAMES.flatMap((name) => Object.entries(CASES[name].silent).map(([what, series]) => [name, what, series] as const)),
  )('%s is silent about %s', async (name, _what, series) => {
    await testRules(prometheus(), RULES, [
      { interval: '1m', input_series: inputs(series), alert_rule_test: looks(name, ALWAYS) },
    ])
  })

  it('OverLimit fires where a download begins above a limit that was lowered', async () => {
    const silent = CASES.OverLimit.silent['a limit that was lowered while they ran, and none that began since']
    const started = 'ot_sync_started_total{namespace="sync-operator",pod="a"}'
    const { labels, summary, description } = CASES.OverLimit.fires
    const expected = firing('OverLimit', {
      ...CASES.OverLimit.fires,
      labels: labels ?? {},
      summary,
      description: description.replace('1 are', '4 are'),
    })
    await testRules(prometheus(), RULES, [
      {
        interval: '1m',
        input_series: inputs({ ...silent, [started]: '0+1x20 20x30 21x190' }),
        alert_rule_test: [...looks('OverLimit', ['45m']), ...looks('OverLimit', ['55m'], [expected])],
      },
    ])
  })

  it('NoLeader fires where no replica can be read', async () => {
    const { summary, description } = CASES.NoLeader.fires
    const expected = firing('NoLeader', {
      series: {},
      at: '',
      labels: { name: 'sync-operator' },
      summary,
      description,
    })
    await testRules(prometheus(), RULES, [
      { interval: '1m', input_series: inputs({ up: '0x20' }), alert_rule_test: looks('NoLeader', ['5m'], [expected]) },
    ])
  })

  it('are tested by what can fail', async () => {
    const { series } = CASES.PolicyInvalid.fires
    const wrong = [{ interval: '1m', input_series: inputs(series), alert_rule_test: looks('PolicyInvalid', ['5m']) }]
    await expect(testRules(prometheus(), RULES, wrong)).rejects.toThrow(/OpenTerrainPolicyInvalid/)
  })
})

it('the architecture names the alerts that no deep scenario fires from a broken state', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
  const scenarios = ['alerts', 'alerts-of-losses'].map((name) => read(`test/scenario/${name}.deep.test.ts`)).join()
  const unfired = NAMES.filter((name) => !new RegExp(`('|OpenTerrain)${name}\\b`).test(scenarios))
  const [, sentence = ''] =
    /Promtool alone, from\s+written series, fires ([^.]*)\./.exec(read('docs/architecture.md')) ?? []
  expect([...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name).toSorted()).toEqual(unfired.toSorted())
})
