import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataSync, RESOURCES, type Resource } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

/** Where every kind has to be: a file, with a text in it. Both may have placeholders. */
interface Place {
  readonly path: string
  readonly text: string
}

/** Stands for any name: such a text is counted. */
const ANY_NAME = '<Kinds>'

/** Returns the rows of the table in CONTRIBUTING.md. */
function placesOfKinds(): Place[] {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, section = ''] = guide.split('\n## Places of a kind\n')
  return [...section.matchAll(/^\| `([^`]+)` +\| (?:`([^`]+)`)? +\|/gm)].map(([, path = '', text = '']) => ({
    path,
    text,
  }))
}

type Named = Pick<Resource, 'kind' | 'plural' | 'singular'>

function filled(text: string, { kind, plural, singular }: Named): string {
  const words = kind.replaceAll(/([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$&-').toLowerCase()
  const names: Readonly<Record<string, string>> = {
    '<Kind>': kind,
    '<kind>': words,
    '<constant>': words.replaceAll(/-(.)/g, (_all, letter: string) => letter.toUpperCase()),
    '<plural>': plural,
    '<singular>': singular,
  }
  return text.replaceAll(/<\w+>/g, (name) => names[name] ?? name)
}

/** Returns the places that lack the last of these kinds, where the others are already. */
function missingAt(places: readonly Place[], kinds: readonly Named[]): string[] {
  const kind = kinds.at(-1) ?? dataSync
  return places.flatMap((place) => {
    const [path, text] = [filled(place.path, kind), filled(place.text, kind)]
    const file = join(ROOT, path)
    const content = existsSync(file) ? readFileSync(file, 'utf8') : undefined
    if (content !== undefined && hasText(content, text, kinds.length)) return []
    return [`${path}: ${content === undefined ? 'is missing' : `has no ${text}`}`]
  })
}

function hasText(content: string, text: string, count: number): boolean {
  if (text.includes(ANY_NAME)) return content.split(wordPattern(text)).length - 1 >= count
  return text === '' || wordPattern(text).test(content)
}

/** The text, where no longer word has it. */
function wordPattern(text: string): RegExp {
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&').replace(ANY_NAME, '\\w+')
  return new RegExp(`(?<![A-Za-z])${escaped}${/[a-z>]$/i.test(text) ? '(?![a-z])' : ''}`)
}

const PLACES = placesOfKinds()

it.each(RESOURCES.map((resource) => [resource.kind, resource] as const))(
  '%s is at every place of a kind',
  (_kind, one) => {
    const others = RESOURCES.filter((other) => other !== one)
    expect(missingAt(PLACES, [...others, one])).toEqual([])
  },
)

it('a kind that nobody has added is missing at every place, which is named', () => {
  const gadget = { kind: 'GadgetRack', plural: 'gadgetracks', singular: 'gadgetrack' }
  const missing = missingAt(PLACES, [...RESOURCES, gadget])
  expect(PLACES.length).toBeGreaterThan(30)
  expect(missing).toHaveLength(PLACES.length)
  expect(missing).toContain('operator/controllers/gadget-rack/decide/plan.ts: is missing')
  expect(missing).toContain('constructs/api/resources.ts: has no gadgetRack')
})

it('no row of the table is there twice, and each depends on the kind', () => {
  expect(new Set(PLACES.map(({ path, text }) => `${path} ${text}`)).size).toBe(PLACES.length)
  for (const { path, text } of PLACES) expect(`${path}${text}`).toMatch(/<\w+>/)
})
