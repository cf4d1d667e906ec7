import { join, relative } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..')
const DOOR = join(ROOT, 'constructs/index.ts')
/** What is exported from here has a chapter of the API reference, or is no word of authors. */
const ELSEWHERE = /^constructs\/(api|children|platform|schema)\//
/** What authors begin with. All others follow by name. */
const FIRST = ['Workspace', 'Release']
const TYPE_MAX = 80
/** What the package says to itself. */
const INTERNAL = ['occupy', 'toJson', 'toSpec']

type Kind = 'Classes' | 'Functions' | 'Interfaces' | 'Types'
const KINDS: readonly Kind[] = ['Classes', 'Functions', 'Interfaces', 'Types']

interface Word {
  readonly name: string
  readonly kind: Kind
  readonly symbol: ts.Symbol
  readonly declaration: ts.Declaration
}

/**
 * Returns the reference of the words of authors in Markdown: each class, function and interface that `@open-terrain/constructs` exports for them, with the text
 * of its docstrings.
 */
export function authoringReference(): string {
  const { program, checker } = readDoor()
  const words = wordsOf(program, checker)
  const chapters = KINDS.flatMap((kind) => {
    const those = words.filter((word) => word.kind === kind)
    return those.length === 0 ? [] : [`## ${kind}`, ...those.flatMap((word) => sectionOf(word, checker))]
  })
  const contents = KINDS.flatMap((kind) => {
    const those = words.filter((word) => word.kind === kind)
    const links = those.map(({ name }) => `[${name}](#${name.toLowerCase()})`)
    return those.length === 0 ? [] : [`- ${kind}: ${links.join(', ')}`]
  })
  return `${[
    '# The words of authors',
    'What `@open-terrain/constructs` exports for labs in TypeScript. Where a property has no text of its own, it is the field of that name: see the ' +
      '[API reference](api.md). How to use them: [labs in TypeScript](../../docs/constructs.md).',
    contents.join('\n'),
    ...chapters,
  ].join('\n\n')}\n`
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
  return ts.isTypeAliasDeclaration(declaration) ? 'Types' : undefined
}

function pathOf(declaration: ts.Declaration): string {
  return relative(ROOT, declaration.getSourceFile().fileName).replaceAll('\\', '/')
}

function sectionOf(word: Word, checker: ts.TypeChecker): string[] {
  const { name, symbol, declaration } = word
  return [`### ${name}`, ...paragraph(textOf(symbol, checker)), ...bodyOf(declaration, symbol, checker)]
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
  if (name === 'example') return `Example: \`${words.replaceAll('`', '')}\``
  return name === 'default' ? `Default: ${words}` : undefined
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

function code(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``
}

function cell(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headers), line(headers.map(() => '---')), ...rows.map(line)].join('\n')
}
