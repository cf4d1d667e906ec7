import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as constructs from '@open-terrain/constructs'
import * as cdk8s from 'cdk8s'
import * as base from 'constructs'
import ts from 'typescript'
import { expect, it, vi } from 'vitest'
import { docBlocks } from './doc-pages.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = [
  ...globSync('docs/authoring/*.md', { cwd: ROOT }),
  ...globSync('docs/constructs/*.md', { cwd: ROOT }),
  'docs/constructs.md',
].toSorted()

/** What each page may use without saying where it is from. */
const GIVEN = `import type { App, Chart } from 'cdk8s'
declare global {
  const app: App
  const chart: Chart
}
`

/** Returns the modules of the pages: path -> text. Blocks that are no file of their own are one program, whose imports come first. */
function modulesOf(pages: readonly string[]): ReadonlyMap<string, string> {
  const modules = new Map([[join(ROOT, 'docs/given.ts'), GIVEN]])
  for (const page of pages) {
    const folder = join(ROOT, page.replace(/[.]md$/, ''))
    const blocks = docBlocks(readFileSync(join(ROOT, page), 'utf8')).filter(({ language }) => language === 'ts')
    for (const { file, text } of blocks) if (file !== undefined) modules.set(join(folder, file), text)
    const program = blocks.filter(({ file }) => file === undefined).map(({ text }) => text)
    if (program.length > 0) modules.set(join(folder, 'page.ts'), `${program.join('\n')}\nexport {}\n`)
  }
  return modules
}

/** Returns what the compiler says of modules that are on no disk, as users of the package would see it. */
function complaintsOf(modules: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const given = { ...options, incremental: false, tsBuildInfoFile: undefined, noUnusedLocals: false }
  const host = ts.createCompilerHost(given)
  const { fileExists, readFile, getSourceFile, directoryExists } = host
  const folders = new Set([...modules.keys()].map((path) => dirname(path)))
  const program = ts.createProgram([...modules.keys()], given, {
    ...host,
    fileExists: (path) => modules.has(path) || fileExists(path),
    directoryExists: (path) => folders.has(path) || (directoryExists?.(path) ?? true),
    readFile: (path) => modules.get(path) ?? readFile(path),
    getSourceFile: (path, how, ...rest) => {
      const text = modules.get(path)
      return text === undefined ? getSourceFile(path, how, ...rest) : ts.createSourceFile(path, text, how)
    },
  })
  return [...modules.keys()].flatMap((path) => {
    const source = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => {
        const line = source?.text.slice(0, start).split('\n').length ?? 0
        const shown = path.slice(ROOT.length + 1)
        return `${shown}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
      },
    )
  })
}

it('the examples of the pages for authors compile', () => {
  const modules = modulesOf(PAGES)
  expect(modules.size).toBeGreaterThan(20)
  // A check that checks nothing would accept this one, too.
  const wrong = join(ROOT, 'docs/wrong.ts')
  const text =
    "import { Workspace } from '@open-terrain/constructs'\nnew Workspace(chart, 'lab').addVm('a', { cpu: 1 })\n"
  expect(complaintsOf(new Map([...modules, [wrong, text]]))).toEqual([
    expect.stringMatching(/^docs\/wrong[.]ts:2: .*'image' is missing/),
  ])
})

const PACKAGES: Readonly<Record<string, unknown>> = { '@open-terrain/constructs': constructs, cdk8s, constructs: base }

/** Runs a program. Returns the manifests that it writes, as one text. */
function synthesized(program: string): string {
  const app = new cdk8s.App()
  const chart = new cdk8s.Chart(app, 'given')
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2024 }
  const { outputText } = ts.transpileModule(program, { compilerOptions })
  new Function('require', 'exports', 'app', 'chart', outputText)((name: string) => PACKAGES[name], {}, app, chart)
  return app.synthYaml()
}

const programs = [...modulesOf(PAGES)].filter(([path]) => path.endsWith('/page.ts'))

it.each(programs.map(([path, text]) => [path.slice(ROOT.length + 1, -'/page.ts'.length), text]))(
  'the labs of %s are accepted',
  (_page, program) => {
    const warned: string[] = []
    vi.spyOn(console, 'warn').mockImplementation((text: string) => void warned.push(text))
    expect(synthesized(program)).toMatch(/^kind: /m)
    // What a page shows on purpose has its reason in the program.
    expect(warned.filter((text) => !program.includes(/\[(\w+)\]$/.exec(text)?.[1] ?? text))).toEqual([])
  },
)
