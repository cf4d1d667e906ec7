import { basename, join, relative } from 'node:path'
import { WARNING_TEXTS } from '@open-terrain/constructs'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..')
const DOOR = join(ROOT, 'constructs/index.ts')
/** What is exported from here has a chapter of the API reference, or is no word of authors. */
const ELSEWHERE = /^constructs\/(api|children|platform|schema)\//
/** What authors begin with. All others follow by name. */
const FIRST = ['Workspace', 'Release']
const TYPE_MAX = 80
/** What the package says to itself, or to cdk8s. */
const INTERNAL = ['toJson']

type Kind = 'Classes' | 'Functions' | 'Interfaces' | 'Types' | 'Values'
const KINDS: readonly Kind[] = ['Classes', 'Functions', 'Interfaces', 'Types', 'Values']

interface Word {
  readonly name: string
  readonly kind: Kind
  readonly symbol: ts.Symbol
  readonly declaration: ts.Declaration
}

/** What has a page without a class of its own: the name of the page by the file in constructs/authoring. */
const PAGES: Readonly<Record<string, string>> = { 'lab-role.ts': 'defineRole', 'spec-props.ts': 'Fields' }
const OTHERS = 'Types'
const NOTE = '<!-- Generated from the docstrings in constructs/ by `npm run gen`; do not edit. -->'

/**
 * Returns the reference of the words of authors in Markdown, file name -> content: a page for each class that `@open-terrain/constructs` exports for them, with
 * what is made for it, an index, and the list of warnings. The texts are those of the docstrings.
 */
export function authoringPages(): ReadonlyMap<string, string> {
  const { program, checker } = readDoor()
  const words = wordsOf(program, checker)
  const classes = words.filter(({ kind }) => kind === 'Classes')
  const owners = new Map(classes.map(({ name, declaration }) => [fileOf(declaration), name]))
  const pages = Map.groupBy(words, ({ declaration }) => {
    const file = fileOf(declaration)
    return owners.get(file) ?? PAGES[file] ?? OTHERS
  })
  return new Map([
    ['README.md', page('The words of authors', indexOf(pages))],
    ['warning-ids.md', page('Warnings by their ids', warningList())],
    ...[...pages].map(([name, those]): [string, string] => [`${name}.md`, page(name, pageOf(name, those, checker))]),
  ])
}

function fileOf(declaration: ts.Declaration): string {
  return basename(declaration.getSourceFile().fileName)
}

function page(title: string, parts: readonly string[]): string {
  return `${[NOTE, `# ${title}`, ...parts].join('\n\n')}\n`
}

function indexOf(pages: ReadonlyMap<string, readonly Word[]>): string[] {
  const placed = [...pages].flatMap(([name, those]) => those.map((word) => ({ word, name })))
  const rows = KINDS.flatMap((kind) => {
    const links = placed
      .filter(({ word }) => word.kind === kind)
      .map(({ word, name }) => `[${word.name}](${name}.md${word.name === name ? '' : `#${word.name.toLowerCase()}`})`)
    return links.length === 0 ? [] : [[kind, links.join(', ')]]
  })
  return [
    'What `@open-terrain/constructs` exports for labs in TypeScript, a page for each construct. Where a property has no text of its own, it is the field of ' +
      'that name: see the [API reference](../../crds-gen/generated/api.md). How to use them: [labs in TypeScript](../authoring/README.md), ' +
      '[objects in TypeScript](../constructs.md). What may not work, by its id: [warnings](warning-ids.md).',
    table(['', ''], rows),
  ]
}

function warningList(): string[] {
  const rows = Object.entries(WARNING_TEXTS).map(([id, about]) => [cell(id), about.replaceAll('|', '\\|')])
  return [
    'What is printed at synth with an id in brackets. `Warnings.of(construct).acknowledge(id)` says that it is known, and meant: see [Warnings](Warnings.md).',
    table(['Id', 'What it is about'], rows),
  ]
}

/** The word that the page is named for comes first, without a heading of its own. */
function pageOf(name: string, words: readonly Word[], checker: ts.TypeChecker): string[] {
  const own = words.find((word) => word.name === name)
  const others = words.filter((word) => word !== own)
  return [
    ...(own === undefined ? [] : sectionOf(own, checker).slice(1)),
    ...others.flatMap((word) => sectionOf(word, checker)),
    'All words: [index](README.md).',
  ]
}

function readDoor(): { readonly program: ts.Program; readonly checker: ts.TypeChecker } {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [DOOR] }, ts.sys, ROOT)
  const program = ts.createProgram([DOOR], { ...options, incremental: false, tsBuildInfoFile: undefined })
  return { program, checker: program.getTypeChecker() }
}

function wordsOf(program: ts.Program, checker: ts.TypeChecker): Word[] {
  const door = program.getSourceFile(DOOR)
  const exported = door && checker.getSymbolAtLocation(door)
  if (exported === undefined) throw new Error(`${DOOR} exports nothing`)
  const words = checker.getExportsOfModule(exported).flatMap((one): Word[] => {
    const symbol = one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one
    const [declaration] = symbol.declarations ?? []
    const kind = declaration && kindOf(declaration)
    if (declaration === undefined || kind === undefined || ELSEWHERE.test(pathOf(declaration))) return []
    return [{ name: one.name, kind, symbol, declaration }]
  })
  const place = ({ name }: Word) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  return words.toSorted((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1))
}

function kindOf(declaration: ts.Declaration): Kind | undefined {
  if (ts.isClassDeclaration(declaration)) return 'Classes'
  if (ts.isFunctionDeclaration(declaration)) return 'Functions'
  if (ts.isInterfaceDeclaration(declaration)) return 'Interfaces'
  if (ts.isVariableDeclaration(declaration)) return 'Values'
  return ts.isTypeAliasDeclaration(declaration) ? 'Types' : undefined
}

function pathOf(declaration: ts.Declaration): string {
  return relative(ROOT, declaration.getSourceFile().fileName).replaceAll('\\', '/')
}

function sectionOf(word: Word, checker: ts.TypeChecker): string[] {
  const { name, symbol, declaration } = word
  return [
    `## ${name}`,
    ...paragraph(textOf(symbol, checker)),
    ...programsOf(symbol, checker),
    ...bodyOf(declaration, symbol, checker),
  ]
}

function bodyOf(declaration: ts.Declaration, symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  if (ts.isClassDeclaration(declaration)) return classBody(declaration, symbol, checker)
  if (ts.isInterfaceDeclaration(declaration)) return propertiesOf(checker.getDeclaredTypeOfSymbol(symbol), checker)
  if (ts.isTypeAliasDeclaration(declaration)) return [`\`${collapsed(declaration.type.getText())}\``]
  return ts.isFunctionDeclaration(declaration) ? [code(signatureText(declaration))] : []
}

function classBody(declaration: ts.ClassDeclaration, symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  const name = symbol.name
  const isAbstract = hasModifier(declaration, ts.SyntaxKind.AbstractKeyword)
  const maker = declaration.members.find(ts.isConstructorDeclaration)
  const made =
    maker === undefined || isAbstract
      ? []
      : [code(`new ${name}(${maker.parameters.map((one) => collapsed(one.getText())).join(', ')})`)]
  const statics = checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)).map((one) => [`${name}.`, one] as const)
  const own = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((one) => ['', one] as const)
  const rows = [...statics, ...own].flatMap(([before, member]): string[][] => {
    const [place] = member.declarations ?? []
    const text = textOf(member, checker)
    if (place === undefined || text === '' || !isPublic(place) || INTERNAL.includes(member.name)) return []
    return [[cell(`${before}${memberText(place, member.name)}`), text]]
  })
  return [...made, ...(rows.length === 0 ? [] : [table(['Member', 'What it is'], rows)])]
}

function isOurs(declaration: ts.Declaration): boolean {
  return /^constructs\//.test(pathOf(declaration))
}

/** Docstrings of cdk8s and constructs are not repeated. */
function isPublic(declaration: ts.Declaration): boolean {
  if (!isOurs(declaration)) return false
  const { name } = declaration as ts.NamedDeclaration
  if (name !== undefined && ts.isPrivateIdentifier(name)) return false
  return ![ts.SyntaxKind.ProtectedKeyword, ts.SyntaxKind.PrivateKeyword].some((word) => hasModifier(declaration, word))
}

function hasModifier(declaration: ts.Declaration, word: ts.SyntaxKind): boolean {
  return ts.canHaveModifiers(declaration) && (ts.getModifiers(declaration) ?? []).some(({ kind }) => kind === word)
}

function memberText(declaration: ts.Declaration, name: string): string {
  return ts.isMethodDeclaration(declaration) ? signatureText(declaration) : name
}

/** Returns name and arguments, with what is returned. */
function signatureText(declaration: ts.MethodDeclaration | ts.FunctionDeclaration): string {
  const parameters = declaration.parameters.map((one) => collapsed(one.getText()))
  const returned = declaration.type === undefined ? '' : `: ${collapsed(declaration.type.getText())}`
  return `${declaration.name?.getText() ?? ''}(${parameters.join(', ')})${returned}`
}

function propertiesOf(type: ts.Type, checker: ts.TypeChecker): string[] {
  const rows = checker.getPropertiesOfType(type).map((property) => {
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
    const text = textOf(property, checker)
    return [cell(`${property.name}${isOptional ? '?' : ''}`), cell(typeOf(property, checker)), text]
  })
  return rows.length === 0 ? [] : [table(['Property', 'Type', 'Description'], rows)]
}

/** Returns a type as it is written. One that is computed is shown if it is short. */
function typeOf(property: ts.Symbol, checker: ts.TypeChecker): string {
  const [declaration] = property.declarations ?? []
  if (declaration !== undefined && ts.isMethodSignature(declaration))
    return `(${declaration.parameters.map((one) => collapsed(one.getText())).join(', ')}) => ${declaration.type?.getText() ?? 'void'}`
  const isWritten = declaration !== undefined && ts.isPropertySignature(declaration) && isOurs(declaration)
  const written = isWritten ? declaration.type?.getText() : undefined
  const text = collapsed(written ?? checker.typeToString(checker.getTypeOfSymbol(property))).replace(
    / \| undefined$/,
    '',
  )
  return text.length > TYPE_MAX ? 'as in the spec' : text
}

/** Returns the docstring with its tags as sentences of one paragraph. */
function textOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const tags = symbol.getJsDocTags(checker).flatMap(({ name, text: parts }) => {
    const words = ts.displayPartsToString(parts)
    return tagText(name, words) ?? []
  })
  return [text, ...tags]
    .map((one) => sentence(collapsed(one)))
    .filter((one) => one !== '')
    .join(' ')
    .replaceAll('|', '\\|')
}

function tagText(name: string, words: string): string | undefined {
  if (name === 'param' || name === 'typeParam') return words.replace(/^(\S+) +(?:- )?/, '`$1`: ')
  if (name === 'returns') return `Returns ${words}`
  if (name === 'throws') return `Throws ${words}`
  if (name === 'example') return words.includes('\n') ? undefined : `Example: \`${words.replaceAll('`', '')}\``
  return name === 'default' ? `Default: ${words}` : undefined
}

/** Examples of several lines are programs, which a test compiles. */
function programsOf(symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  return symbol.getJsDocTags(checker).flatMap(({ name, text }) => {
    const words = ts.displayPartsToString(text)
    return name === 'example' && words.includes('\n') ? [words] : []
  })
}

function sentence(text: string): string {
  return text === '' || /[.:?!]$/.test(text) ? text : `${text}.`
}

function paragraph(text: string): string[] {
  return text === '' ? [] : [text.replaceAll('\\|', '|')]
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** No program, so no block of TypeScript. */
function code(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``
}

function cell(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headers), line(headers.map(() => '---')), ...rows.map(line)].join('\n')
}
