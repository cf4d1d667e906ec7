import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { always } from '../../../../test/prepared/vm-disk-image/random-image-worlds.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import type { ImageWorld } from '../world.ts'
import { planImage } from './plan.ts'
import { SITUATIONS, type Situation, situationOf } from './situation.ts'

type Name = Situation['is']

const NAMES = Object.keys(SITUATIONS) as Name[]

/** So many that the rarest situation is among them. */
const MANY = 9_000

const nameOf = (world: ImageWorld): Name => situationOf(world, START).is

/** The questions that choose a situation, in their order, each with the situations of those that it is true for. */
const QUESTIONS: readonly (readonly [question: string, isSo: (world: ImageWorld) => boolean, so: readonly Name[]])[] = [
  ['deleted', ({ image }) => isTerminating(image), ['inUse', 'leaving', 'gone']],
  ['without a spec to act upon', ({ spec }) => !spec.ok, ['tooLarge', 'invalid']],
  [
    'with a download that is not finished',
    ({ dataVolumes }) => dataVolumes.some((one) => !isFinished(one)),
    ['stopping', 'clearing', 'unreported', 'running'],
  ],
  ['with a slot', ({ slot }) => slot !== undefined, ['stopping', 'admitted', 'freeing']],
  [
    'with nothing in progress',
    () => true,
    // `clearing`: the download has vanished.
    NAMES.slice(NAMES.indexOf('binding')).concat('clearing'),
  ],
]

describe('in any world, however odd, an image', { timeout: 60_000 }, () => {
  it('is in a situation that belongs to the first of these questions which is true for it', () => {
    always((one) => {
      const [question, , names = []] = QUESTIONS.find(([, isSo]) => isSo(one)) ?? []
      expect(names, question).toContain(nameOf(one))
    })
  })

  it('says what the table says, and all that it says: no situation and no phase of it is dead', () => {
    const shown = new Map<Name, Set<string>>(NAMES.map((name) => [name, new Set()]))
    always((one) => {
      const name = nameOf(one)
      const { phase } = planImage(one, START).status
      const isAsBefore = AS_BEFORE.has(name) && phase === one.image.status.phase
      shown.get(name)?.add(isAsBefore ? 'as before' : String(phase))
    }, MANY)
    const phasesOf = (name: Name) => [...(shown.get(name) ?? [])].toSorted()
    expect(Object.fromEntries(NAMES.map((name) => [name, phasesOf(name)]))).toEqual(
      Object.fromEntries(NAMES.map((name) => [name, [...SITUATIONS[name].phases].toSorted()])),
    )
  })

  it('wants a download only where it waits for a slot, or has one that nothing was made for', () => {
    always((one) => {
      const name = nameOf(one)
      expect(planImage(one, START).start !== undefined).toBe(name === 'queued' || name === 'admitted')
    })
  })

  it('that is suspended neither downloads nor waits for a download', () => {
    const downloading: readonly Name[] = [
      'unreported',
      'running',
      'admitted',
      'unneeded',
      'backoff',
      'blocked',
      'queued',
    ]
    always((one) => {
      // What nothing refers to any more is removed all the same.
      if (one.spec.ok && one.spec.spec.suspend === true && one.references.count > 0)
        expect(downloading).not.toContain(nameOf(one))
    })
  })

  it('that is not deleted loses its finalizer in no situation, and one that is gone only its finalizer', () => {
    always((one) => {
      const { status, apply, remove, finalizer } = planImage(one, START)
      expect(finalizer === 'release').toBe(nameOf(one) === 'gone')
      if (finalizer === 'release') expect([status, apply, remove]).toEqual([one.image.status, [], []])
    })
  })
})

const AS_BEFORE = new Set(NAMES.filter((name) => SITUATIONS[name].phases.some((phase) => phase === 'as before')))

/** In Markdown. */
function table(): string {
  const rows = [
    ['Situation', 'When', 'Phase'],
    ...NAMES.map((name) => [`\`${name}\``, SITUATIONS[name].what, SITUATIONS[name].phases.join(', ')]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  const [head = [], ...rest] = rows
  return [line(head, ' '), line(['', '', ''], '-'), ...rest.map((row) => line(row, ' '))]
    .map((row) => `${row}\n`)
    .join('')
}

it('the table of situations in docs/architecture.md is what the code says', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../../../docs/architecture.md'), 'utf8')
  expect(/^\| Situation .*\n(?:\|.*\n)+/m.exec(docs)?.[0]).toBe(table())
})

it('the tests of each situation are in one place, which has its name', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^plan-.*\.test\.ts$/.test(name))
  const places = files.flatMap((name) => {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8')
    return [...text.matchAll(/^describe\('(\w+)', /gm)].map(([, situation = '']) => situation)
  })
  expect(places.toSorted()).toEqual(NAMES.toSorted())
})
