import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { DOORS, withDeclarations } from './declarations.ts'

/** A field that people write, with what its comment says. */
interface DocumentedField {
  readonly path: string
  readonly isOptional: boolean
  /** Types of its values. */
  readonly kinds: ReadonlySet<'text' | 'number' | 'other'>
  readonly comment: string
}

/** What people write, beside the interfaces with these endings. */
const WRITTEN =
  /(Props|SpecInput|Options|Choices|Values)$|^(LabUser|LabDisk|LabRole|LabRoute|InstallationOwner|Toleration)$/
const DEFAULT = /@default \S|Default: \S/
/** A default that is a value is an example, too. */
const EXAMPLE = /such as|for example|@example|@default [`0-9]/i
/** What a number counts, or what it is. */
const UNIT = /seconds|bytes|characters|items|port|\bid\b|CPU|\bsize\b|replica|how many|tries|images|retries|times/i

let files: readonly string[] = []
let exported: readonly (readonly [door: string, names: readonly string[]])[] = []
let fields: readonly DocumentedField[] = []
/** What the classes of authors declare beside their constructors. */
let members: readonly (readonly [path: string, name: string])[] = []

beforeAll(() => {
  withDeclarations((folder) => {
    const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true }
    const entries = Object.values(DOORS).map((file) => join(folder, file))
    const program = ts.createProgram(entries, { ...options, allowImportingTsExtensions: true, noEmit: true })
    const checker = program.getTypeChecker()
    files = program.getSourceFiles().map(({ fileName }) => fileName)
    const symbols = entries.map((entry) => {
      const source = program.getSourceFile(entry)
      const module = source && checker.getSymbolAtLocation(source)
      if (module === undefined) throw new Error(`${entry} is no module`)
      return checker.getExportsOfModule(module)
    })
    exported = entries.map((entry, at) => [entry, (symbols[at] ?? []).map(({ name }) => name)])
    fields = symbols.flat().flatMap((symbol) => fieldsOf(symbol, checker, folder))
    members = (symbols[0] ?? []).flatMap((symbol) => membersOf(symbol, checker, folder))
  })
}, 300_000)

function fieldsOf(symbol: ts.Symbol, checker: ts.TypeChecker, folder: string): DocumentedField[] {
  const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  if (!WRITTEN.test(own.name) || !(own.flags & ts.SymbolFlags.Interface)) return []
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(own)).flatMap((field): DocumentedField[] => {
    const isOurs = field.declarations?.some((one) => one.getSourceFile().fileName.startsWith(folder)) ?? false
    if (!isOurs) return []
    const tags = field.getJsDocTags(checker).map(({ name, text }) => `@${name} ${ts.displayPartsToString(text)}`)
    const comment = [ts.displayPartsToString(field.getDocumentationComment(checker)), ...tags].join('\n')
    const type = checker.getNonNullableType(checker.getTypeOfSymbol(field))
    const kinds = new Set((type.isUnion() ? type.types : [type]).map(kindOf))
    return [
      { path: `${own.name}.${field.name}`, isOptional: (field.flags & ts.SymbolFlags.Optional) !== 0, kinds, comment },
    ]
  })
}

function membersOf(symbol: ts.Symbol, checker: ts.TypeChecker, folder: string): [path: string, name: string][] {
  const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  if (!(own.flags & ts.SymbolFlags.Class)) return []
  const all = [
    ...checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(own)),
    ...checker.getPropertiesOfType(checker.getTypeOfSymbol(own)),
  ]
  const isOurs = ({ declarations = [] }: ts.Symbol) =>
    declarations.some((one) => one.getSourceFile().fileName.startsWith(folder) && !isInternal(one))
  const isOffered = (one: ts.Symbol) => isOurs(one) && !one.declarations?.some(isPrivate)
  return all.filter(isOffered).map(({ name }) => [`${own.name}.${name}`, name])
}

function isPrivate(declaration: ts.Declaration): boolean {
  const name = ts.getNameOfDeclaration(declaration)
  return name !== undefined && ts.isPrivateIdentifier(name)
}

/** cdk8s calls it. */
function isInternal(declaration: ts.Declaration): boolean {
  return ts.isMethodDeclaration(declaration) && declaration.name.getText() === 'toJson'
}

/** What authors read: pages, and programs. */
function authorsText(): string {
  const root = join(import.meta.dirname, '..')
  const files = ['docs/authoring/*.md', 'docs/constructs.md', 'docs/pulumi.md', 'examples/*.ts', 'examples/*/*.ts']
  const read = files
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .map((file) => readFileSync(join(root, file)))
  return read.join('\n')
}

function kindOf({ flags }: ts.Type): 'text' | 'number' | 'other' {
  if (flags & ts.TypeFlags.String) return 'text'
  return flags & ts.TypeFlags.Number ? 'number' : 'other'
}

function pathsWhere(holds: (field: DocumentedField) => boolean): string[] {
  return fields.filter(holds).map(({ path }) => path)
}

describe('the promised doors', () => {
  // `npm run check` says where a report is not up to date: a break of what is promised is a difference in it.
  it.each(Object.keys(DOORS))('export every type that their declarations use, with a comment on each: %s', (door) => {
    const report = readFileSync(join(import.meta.dirname, `generated/${door}.api.md`), 'utf8')
    expect(report).not.toMatch(/\bWarning: |\(undocumented\)/)
  })

  it('need no zod to be compiled', () => {
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((file) => file.includes('/zod/'))).toEqual([])
  })

  it.each(Object.keys(DOORS))('have no names in %s that differ by case alone', (door) => {
    const names = exported.find(([entry]) => entry.endsWith(DOORS[door as keyof typeof DOORS]))?.[1] ?? []
    const seen = Map.groupBy(names, (name) => name.toLowerCase())
    expect(names.length).toBeGreaterThan(40)
    expect([...seen.values()].filter((alike) => alike.length > 1)).toEqual([])
  })
})

describe('a class of authors', () => {
  it('declares nothing that no page and no example has a use for: editors offer all of it', () => {
    const text = authorsText()
    expect(members.length).toBeGreaterThan(40)
    expect(members.filter(([, name]) => !new RegExp(`\\b${name}\\b`).test(text)).map(([path]) => path)).toEqual([])
  })
})

describe('what people write', () => {
  it('has a comment on every field', () => {
    expect(fields.length).toBeGreaterThan(500)
    expect(pathsWhere(({ comment }) => comment.trim().length < 10)).toEqual([])
  })

  it('says what holds without a field that may be left out', () => {
    expect(pathsWhere(({ isOptional, comment }) => isOptional && !DEFAULT.test(comment))).toEqual([])
  })

  it('has an example where a text or a number is free', () => {
    const isFree = ({ kinds }: DocumentedField) => kinds.has('text') || kinds.has('number')
    expect(pathsWhere((field) => isFree(field) && !EXAMPLE.test(field.comment))).toEqual([])
  })

  it('says what a number counts', () => {
    const isNumber = ({ kinds }: DocumentedField) => kinds.has('number') && !kinds.has('text')
    expect(pathsWhere((field) => isNumber(field) && !UNIT.test(field.comment))).toEqual([])
  })
})
