import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ConditionRule,
  conditionsText,
  RESOURCES,
  VIRTUAL_MACHINE_CONDITION_RULES,
  WORKSPACE_CONDITION_RULES,
  type WorkspaceReason,
  workspace,
} from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { apiReference } from '../crds-gen/api-reference.ts'
import { conditionsOf, isTold, type Sayings, saying } from '../operator/runtime/conditions.ts'
import { statesOfConditions } from '../operator/runtime/state-gauges.ts'
import { changedBy, recipeChanges } from './condition-recipe.ts'

const ROOT = join(import.meta.dirname, '..')
const NOW = Date.UTC(2026, 0, 1)

// What follows from the rule of a condition, tried with one that nobody needs. What its files are: docs/add-a-condition.md.

/** What is declared. */
const RULES = {
  ...WORKSPACE_CONDITION_RULES,
  GadgetSpinning: {
    means: 'a gadget spins; absent where there is none',
    presence: 'passing',
    told: 'whenTrue',
    gauge: 'reason',
    reasons: ['NameConflict'],
  },
} as const satisfies Readonly<Record<string, ConditionRule<WorkspaceReason>>>

/** What is said. */
const SAID: Pick<Sayings<typeof RULES, WorkspaceReason>, 'GadgetSpinning'> = {
  GadgetSpinning: saying(true, { reason: 'NameConflict', message: 'it spins' }),
}

/** Of the others, one alone says anything. */
const QUIET = {
  Ready: saying(true, { reason: 'Ready', message: 'all of it' }),
} as Sayings<typeof WORKSPACE_CONDITION_RULES, WorkspaceReason>

const at = (now: number) => ({ generation: 1, now })
const spinning = conditionsOf(RULES, { ...QUIET, ...SAID }, [], at(NOW))

it('a condition that is declared is in the description and in the reference', () => {
  const text = 'GadgetSpinning: a gadget spins; absent where there is none.'
  expect(conditionsText(RULES)).toContain(text)
  const reference = apiReference([{ ...workspace, conditions: RULES }])
  expect(reference).toContain('| `GadgetSpinning` | a gadget spins; absent where there is none | while there is')
  for (const { kind, conditions, status } of RESOURCES) {
    const { description } = (status.shape['conditions'] as unknown as { unwrap(): { description: string } }).unwrap()
    expect(description, kind).toBe(conditionsText(conditions))
  }
})

it('a condition that is declared and not decided does not compile, nor does one with a reason of another', () => {
  // @ts-expect-error nothing says whether it holds
  conditionsOf(RULES, QUIET, [], at(NOW))
  const message = 'it spins'
  // @ts-expect-error it is not one of its reasons
  const other: typeof SAID = { GadgetSpinning: saying(true, { reason: 'Ready', message }) }
  // @ts-expect-error no kind declares it
  const odd: typeof SAID = { GadgetStands: saying(true, { reason: 'NameConflict', message }) }
  expect([Object.keys(other), Object.keys(odd)]).toEqual([['GadgetSpinning'], ['GadgetStands']])
})

it('a condition that is passing is there while it is said, told and counted, and is then taken away', () => {
  const spins = spinning.find(({ type }) => type === 'GadgetSpinning')
  if (spins === undefined) throw new Error('it is not there')
  expect(spins).toMatchObject({ status: 'True', reason: 'NameConflict', message: 'it spins', observedGeneration: 1 })
  expect(isTold(RULES, spins)).toBe(true)
  const metadata = { uid: 'a' }
  const states = statesOfConditions({ metadata, status: { phase: 'Ready', conditions: spinning } }, RULES, NOW)
  expect(states).toEqual([{ phase: 'Ready', reason: 'NameConflict', since: NOW }])
  const later = conditionsOf(RULES, { ...QUIET, GadgetSpinning: undefined }, spinning, at(NOW + 1_000))
  expect(later.map(({ type }) => type)).toEqual(['Ready'])
})

it('a condition that is always there, or lasts, stays as it was where nothing is said of it', () => {
  const lost = { type: 'VolumeLost', status: 'True', reason: 'VolumeLost', message: 'data is gone' } as const
  const before = [...spinning, lost]
  const after = conditionsOf(WORKSPACE_CONDITION_RULES, { ...QUIET, Ready: undefined }, before, at(NOW))
  expect(after).toEqual(before)
})

it('a condition of another version is told while it is True', () => {
  expect(isTold(RULES, { type: 'Unheard', status: 'True' })).toBe(true)
  expect(isTold(RULES, { type: 'Unheard', status: 'False' })).toBe(false)
  expect(isTold(RULES, { type: 'NetworksIsolated', status: 'Unknown' })).toBe(false)
  expect(isTold(RULES, { type: 'Ready', status: 'False' })).toBe(false)
})

it('every remark that is declared for a machine is made by some decision', () => {
  const folder = join(ROOT, 'operator/controllers/virtual-machine/decide')
  const files = readdirSync(folder).filter((name) => !/\.(test|fixtures)\.ts$/.test(name))
  const source = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  const remarks = Object.entries<ConditionRule>(VIRTUAL_MACHINE_CONDITION_RULES).filter(
    ([, { presence }]) => presence === 'passing',
  )
  expect(remarks.length).toBeGreaterThan(10)
  expect(remarks.map(([type]) => type).filter((type) => !source.includes(`type: '${type}'`))).toEqual([])
})

it('the lines that docs/add-a-condition.md goes by are there, once', () => {
  const texts = new Map<string, string | undefined>()
  for (const change of recipeChanges()) {
    const file = join(ROOT, change.path)
    const text = texts.get(change.path) ?? (existsSync(file) ? readFileSync(file, 'utf8') : undefined)
    texts.set(change.path, changedBy(change, text))
  }
  expect(texts.size).toBeGreaterThan(6)
})

it('nothing but its rule, its decision and the status names a condition in the product', () => {
  const named = globSync('{cli,constructs,crds-gen,infra,operator,sandbox}/**/*.ts', { cwd: ROOT }).filter(
    (file) =>
      !/node_modules|\/dist\/|\.test\.ts$/.test(file) &&
      /(?<!Of the condition )\bNetworksIsolated\b/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(named.toSorted()).toEqual([
    'constructs/api/workspace-status.ts',
    'operator/controllers/workspace/decide/isolation.ts',
    'operator/controllers/workspace/decide/status.ts',
  ])
})
