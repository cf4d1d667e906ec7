import { expect, it } from 'vitest'
import type { Parsed } from '../../../constructs/api/parse-spec.ts'
import type { SpecFixture } from './spec.ts'

/** Tests that the parser of a kind accepts the spec of its proposal, and judges the fixtures as they say. */
export function judgesSpecs(
  fixtures: readonly SpecFixture[],
  parse: (raw: unknown) => Parsed<unknown>,
  proposed: unknown,
): void {
  it('reads the manifest of the proposal as it is written', () => {
    expect(parse(proposed)).toEqual({ ok: true, spec: proposed })
  })

  it.each(fixtures.filter(({ valid }) => valid))('accepts $name', ({ spec }) => {
    expect(parse(spec)).toMatchObject({ ok: true })
  })

  it.each(fixtures.filter(({ valid }) => !valid))('refuses $name', ({ spec, path, says = '' }) => {
    const parsed = parse(spec)
    const [problem] = parsed.ok ? [] : parsed.problems
    expect(problem?.path).toBe(path)
    expect(problem?.message).toContain(says)
  })

  it.each([undefined, null, 'text', 7, []])('names the spec where it is no object: %j', (raw) => {
    expect(parse(raw)).toMatchObject({ ok: false, problems: [{ path: 'spec' }] })
  })
}

/** Tests that every reason of a kind has a meaning and a remedy. */
export function explainsReasons(
  reasons: Readonly<Record<string, string>>,
  help: Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>,
): void {
  it('has a meaning and a remedy for every reason', () => {
    expect(Object.keys(reasons)).toEqual(Object.keys(help))
    for (const { meaning, remedy } of Object.values(help)) {
      expect(meaning).toMatch(/\.$/)
      expect(remedy).toMatch(/\.$/)
    }
  })
}
