import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALERTS, type AlertName } from '@open-terrain/constructs/platform'
import { beforeAll, describe, expect, it } from 'vitest'
import { ScriptedClient } from '../../operator/kube/scripted-client.fixtures.ts'
import { scriptedOperator } from '../../operator/scripted-operator.fixtures.ts'

const DOCS = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const NAMES = Object.keys(ALERTS) as AlertName[]
const OWN = /\bot_\w+/g

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

  it('are described in the docs, each of our own', () => {
    const rows = DOCS.split('\n').filter((line) => line.startsWith('| `ot_'))
    const described = rows.flatMap((row) => (row.split(' | ')[0] ?? '').match(OWN) ?? [])
    expect(described.toSorted()).toEqual(served.filter((name) => name.startsWith('ot_')).toSorted())
  })
})
