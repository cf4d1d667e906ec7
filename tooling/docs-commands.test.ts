import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { COMMANDS } from '../cli/commands.ts'
import { EXIT_CODES } from '../cli/exit-codes.ts'
import { runOt } from '../cli/program.ts'
import { systemClock } from '../operator/base/clock.ts'
import { KubectlGrammar } from './kubectl-grammar.ts'
import { type CommandWords, commandsIn } from './shell-commands.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = ['*.md', 'docs/**/*.md', 'examples/**/*.md', '{cli,constructs,infra}/*.md']
const BLOCK = /^( *)```sh\n(.*?)^\1```$/gms
const FENCED = /^ *```[^\n]*\n.*?^ *```$/gms
const INLINE = /`([^`\n]+)`/g

const files = globSync(PAGES, { cwd: ROOT }).toSorted()
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const crds = globSync('crds-gen/generated/crds/*.yaml', { cwd: ROOT }).map((file) =>
  parse(readFileSync(join(ROOT, file), 'utf8')),
)
const kubectl = new KubectlGrammar(crds)

function blocksOf(file: string): string[] {
  return [...(texts.get(file) ?? '').matchAll(BLOCK)].map(({ 2: block = '' }) => block)
}

function inlineOf(file: string): string[] {
  return [...(texts.get(file) ?? '').replace(FENCED, '').matchAll(INLINE)].map(({ 1: code = '' }) => code)
}

/** Returns what is wrong with a command; undefined: nothing that can be known here. */
async function complaintOf(words: CommandWords): Promise<string | undefined> {
  const [program = '', ...rest] = words
  if (program === 'ot' || (program === 'kubectl' && rest[0] === 'ot'))
    return await complaintOfOt(program === 'ot' ? rest : rest.slice(1))
  if (program === 'npm') return complaintOfNpm(rest)
  if (program === 'kubectl') return kubectl.complaintOf(rest)
  return undefined
}

function complaintOfNpm(words: CommandWords): string | undefined {
  const [verb, name] = words.filter((word) => !word.startsWith('-'))
  if (verb === 'run' && !words.includes('-w'))
    return name !== undefined && name in scripts ? undefined : `package.json has no script ${name}`
  return undefined
}

/** Parses a command line of `ot` with the definitions of its commands, up to where it would ask a cluster or read a file. */
async function complaintOfOt(words: CommandWords): Promise<string | undefined> {
  let told = ''
  const nothing = async (): Promise<never> => {
    throw new Error('it goes no further')
  }
  const code = await runOt(words, {
    clock: systemClock,
    connect: nothing,
    readText: nothing,
    writeNew: nothing,
    print: () => undefined,
    tell: (text) => {
      told += text
    },
    ask: undefined,
  })
  return code === EXIT_CODES.usage ? told.split('\n')[0] : undefined
}

/** Returns files of this repository that a command names and that are not there. What a build makes is not looked for. */
function missingFiles(words: CommandWords): string[] {
  const named = words.filter((word) =>
    /^(examples|docs|infra|tooling|test|operator|sandbox|crds-gen)\/[\w./-]+$/.test(word),
  )
  return named.filter((path) => !existsSync(join(ROOT, path))).map((path) => `there is no ${path}`)
}

describe.each(files.filter((file) => blocksOf(file).length > 0))('the commands of %s', (file) => {
  it('exist, with their options', async () => {
    const commands = blocksOf(file).flatMap(commandsIn)
    const complaints = await Promise.all(
      commands.map(async (words) => [await complaintOf(words), ...missingFiles(words)]),
    )
    const found = complaints.flatMap((those, at) =>
      those.flatMap((one) => (one === undefined ? [] : [`${commands[at]?.join(' ')}: ${one}`])),
    )
    expect(found).toEqual([])
  })

  it('can be pasted block by block: without prompts, output, and placeholders that a shell takes for its own', () => {
    const lines = blocksOf(file).flatMap((block) => block.split('\n'))
    const unfit = lines.filter((line) => /^\s*[$%] |<[a-z][^>]*>|^[^#]*(…| [.]{3}( |$))/.test(line))
    expect(unfit).toEqual([])
  })
})

it.each(files)('no block of %s has a command and its output', (file) => {
  const others = [...(texts.get(file) ?? '').matchAll(FENCED)].map(([block]) => block)
  expect(others.filter((block) => /^ *[$] /m.test(block))).toEqual([])
})

describe.each(files)('what %s names in passing', (file) => {
  it('are scripts of npm and commands of ot that there are', () => {
    const names = new Set([...COMMANDS.map(({ usage }) => usage.split(' ')[0]), '--help'])
    const wrong = inlineOf(file).filter((code) => {
      const script = /^npm run (?:-s )?([\w:]+)/.exec(code)?.[1]
      const command = /^(?:kubectl )?ot ([a-z-]+)/.exec(code)?.[1]
      return (script !== undefined && !(script in scripts)) || (command !== undefined && !names.has(command))
    })
    expect(wrong).toEqual([])
  })

  it('are kinds, fields and columns that kubectl knows', () => {
    const commands = inlineOf(file)
      .filter((code) => /^kubectl [a-z]+ /.test(code))
      .flatMap((code) => commandsIn(code))
    const complaints = commands.flatMap((words) => {
      const complaint = words[0] === 'kubectl' && words[1] !== 'ot' ? kubectl.complaintOf(words.slice(1)) : undefined
      return complaint === undefined ? [] : [`${words.join(' ')}: ${complaint}`]
    })
    const columns = [...(texts.get(file) ?? '').replace(FENCED, '').matchAll(/\bcolumn ([A-Z]\w+)/g)].map(
      ({ 1: name = '' }) => name,
    )
    expect([
      ...complaints,
      ...columns.filter((name) => !kubectl.columns.has(name)).map((name) => `no column ${name}`),
    ]).toEqual([])
  })
})

describe('a check of commands', () => {
  it('finds what is wrong', async () => {
    const complaints = await Promise.all(
      commandsIn(
        [
          'npm run nonsense',
          'X=1 ot lbas && ot labs --nonsense',
          'ot stop | kubectl get vmdi,nonsense -A # a comment',
          'x="$(kubectl -n a get vmdi b -o jsonpath=\'{.status.fase}\')"',
          'kubectl get vmdi --sort-by=.status.queuedAtt > file',
          'kubectl frobnicate pods',
        ].join('\n'),
      ).map(complaintOf),
    )
    expect(complaints.filter((one) => one !== undefined)).toEqual([
      'package.json has no script nonsense',
      expect.stringContaining('lbas'),
      expect.stringContaining('--nonsense'),
      'kubectl knows no nonsense',
      'VMDiskImage has no .status.fase',
      'VMDiskImage has no .status.queuedAtt',
      'kubectl has no frobnicate',
    ])
  })

  it('reads pages as a shell does', () => {
    expect(
      commandsIn('A=b kubectl get \\\n  pods -n \'a b\' 2>&1 >/dev/null | grep x; test "$(ot labs -o name)" = y # z\n'),
    ).toEqual([
      ['kubectl', 'get', 'pods', '-n', 'a b'],
      ['grep', 'x'],
      ['ot', 'labs', '-o', 'name'],
      ['test', '$()', '=', 'y'],
    ])
    expect(commandsIn('kind create --config - <<EOF\nkind: Cluster\nEOF\nfor x in a; do ot labs; done')).toEqual([
      ['kind', 'create', '--config', '-'],
      ['for', 'x', 'in', 'a'],
      ['ot', 'labs'],
      ['done'],
    ])
  })
})
