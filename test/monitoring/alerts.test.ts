import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fullName } from '@open-terrain/constructs/infra'
import { ALERTS, type AlertName, RECORDING_RULES } from '@open-terrain/constructs/platform'
import { describe, expect, inject, it } from 'vitest'
import { type AlertCase, CASES, type Series } from './cases.ts'
import type { Prometheus } from './prometheus.ts'
import { promtool, type RuleTests, testRules } from './promtool.ts'
import { renderedRules, rulesOf } from './rendered.ts'

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

/** Tests of one alert. No alert depends on another one. */
function of(name: AlertName, tests: readonly object[]): RuleTests {
  return { rules: rulesOf(RULES, [fullName(name)]), tests }
}

/** The alert fires when it should, and not a minute earlier. */
function fires(name: AlertName): object {
  const { at, series } = CASES[name].fires
  const earlier = `${Number.parseInt(at, 10) - 1}m`
  const alert_rule_test = [...looks(name, [earlier]), ...looks(name, [at], [firing(name, CASES[name].fires)])]
  return { name: `${name} fires`, interval: '1m', input_series: inputs(series), alert_rule_test }
}

function silences(name: AlertName): object[] {
  return Object.entries(CASES[name].silent).map(([what, series]) => ({
    name: `${name} is silent about ${what}`,
    interval: '1m',
    input_series: inputs(series),
    alert_rule_test: looks(name, ALWAYS),
  }))
}

describe.skipIf(found === undefined)('the rules of the alerts', () => {
  it('pass the checks of Prometheus', async () => {
    const said = await promtool(prometheus(), ['check', 'rules', 'rules.yaml'], { 'rules.yaml': RULES })
    expect(said).toContain(`SUCCESS: ${NAMES.length + Object.keys(RECORDING_RULES).length} rules found`)
  })

  it('depend on series of metrics alone', () => {
    for (const { rules } of RULES.groups)
      for (const { alert, record, expr } of rules) expect(expr, alert ?? record).not.toContain('ALERTS')
  })

  it('fire when they should, and not a minute earlier', async () => {
    await testRules(prometheus(), ...NAMES.map((name) => of(name, [fires(name)])))
  })

  it('are silent about what needs nobody', async () => {
    const silent = NAMES.map((name) => of(name, silences(name)))
    expect(silent.flatMap(({ tests }) => tests).length).toBeGreaterThan(NAMES.length)
    await testRules(prometheus(), ...silent.filter(({ tests }) => tests.length > 0))
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
    const test = {
      interval: '1m',
      input_series: inputs({ ...silent, [started]: '0+1x20 20x30 21x190' }),
      alert_rule_test: [...looks('OverLimit', ['45m']), ...looks('OverLimit', ['55m'], [expected])],
    }
    await testRules(prometheus(), of('OverLimit', [test]))
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
    const alert_rule_test = looks('NoLeader', ['5m'], [expected])
    const test = { interval: '1m', input_series: inputs({ up: '0x20' }), alert_rule_test }
    await testRules(prometheus(), of('NoLeader', [test]))
  })

  it('are tested by what can fail', async () => {
    const { series } = CASES.PolicyInvalid.fires
    const good = of('PolicyInvalid', [fires('PolicyInvalid')])
    const wrong = { interval: '1m', input_series: inputs(series), alert_rule_test: looks('PolicyInvalid', ['5m']) }
    // Wherever it stands among the others.
    for (const all of [
      [of('PolicyInvalid', [wrong]), good],
      [good, of('PolicyInvalid', [fires('PolicyInvalid'), wrong])],
    ])
      await expect(testRules(prometheus(), ...all)).rejects.toThrow(/OpenTerrainPolicyInvalid/)
  })
})

it('the architecture names the alerts that no deep scenario fires from a broken state', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
  const scenario = read('test/scenario/alerts.deep.test.ts')
  const unfired = NAMES.filter((name) => !new RegExp(`('|OpenTerrain)${name}\\b`).test(scenario))
  const [, sentence = ''] =
    /Promtool alone, from\s+written series, fires ([^.]*)\./.exec(read('docs/architecture.md')) ?? []
  expect([...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name).toSorted()).toEqual(unfired.toSorted())
})
