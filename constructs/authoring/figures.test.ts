import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseDataSyncSpec } from '../api/data-sync.ts'
import { parseWorkspaceSpec } from '../api/workspace.ts'

/** How much shorter a lab is in TypeScript than in YAML. */

const EXAMPLES = join(import.meta.dirname, '../../examples')
const read = (file: string) => readFileSync(join(EXAMPLES, file), 'utf8')

/** The YAML has the first student. */
function course(): string {
  const student = read('programs/course-student.yaml')
  const labs = Array.from({ length: 12 }, (_, at) => student.replaceAll('course-student-1', `course-student-${at + 1}`))
  return [read('programs/course-images.yaml'), ...labs].join('---\n')
}

const PROGRAMS: readonly (readonly [name: string, program: string, yaml: () => string, warnings: number])[] = [
  ["the proposal's lab", 'workspace.ts', () => read('workspace.yaml'), 5],
  ['a course of 12 students', 'programs/course.ts', course, 0],
  ['a red and a blue team', 'programs/red-and-blue.ts', () => read('programs/red-and-blue.yaml'), 0],
]

/** The lines that say something, and their characters. */
function sizeOf(text: string) {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s*(#|\/\*\*|\*)/.test(line))
  return { lines: lines.length, characters: lines.join('\n').length }
}

const PARSERS = { Workspace: parseWorkspaceSpec, DataSync: parseDataSyncSpec }

/** The objects as the operator reads them, without what is so anyway. */
function objectsIn(text: string): object[] {
  return parseAllDocuments(text)
    .map((one) => one.toJS() as { kind: keyof typeof PARSERS; metadata: object; spec: unknown })
    .map(({ kind, metadata, spec }) => {
      const parsed = PARSERS[kind](spec)
      expect(parsed).toMatchObject({ ok: true })
      const isDefault = (field: string, value: unknown) => field === 'ignoreOnDeploy' && value === false
      const said = JSON.stringify(parsed, (field, value) => (isDefault(field, value) ? undefined : value))
      return { kind, metadata, spec: JSON.parse(said) }
    })
}

describe.each(PROGRAMS)('%s', (_name, program, yaml, warnings) => {
  it('is the same as its YAML, in half the lines and 70 % of the characters at most', async () => {
    const printed: string[] = []
    const warned: string[] = []
    vi.mocked(console.log).mockImplementation((text) => printed.push(text))
    vi.mocked(console.warn).mockImplementation((text) => warned.push(text))
    await import(join(EXAMPLES, program))
    expect(objectsIn(printed.join('\n'))).toEqual(objectsIn(yaml()))
    expect(warned).toHaveLength(warnings)
    const [own, other] = [sizeOf(read(program)), sizeOf(yaml())]
    expect(own.lines / other.lines).toBeLessThanOrEqual(0.5)
    expect(own.characters / other.characters).toBeLessThanOrEqual(0.7)
  })
})
