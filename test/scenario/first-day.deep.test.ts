import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { docBlocks } from '../../tooling/doc-pages.ts'
import { HAS_KUBECTL, isThere } from '../harness/kubectl.ts'

const ROOT = join(import.meta.dirname, '../..')
const DAY = readFileSync(join(ROOT, 'docs/authoring/first-day.md'), 'utf8')
const OWN = readFileSync(join(ROOT, 'docs/authoring/own-construct.md'), 'utf8')
const LASTS = 'leave it running:'
const CAN_RUN = HAS_KUBECTL && isThere('npm', ['view', 'cdk8s', 'version'])

let home = ''
let env: NodeJS.ProcessEnv = {}
const lasting: ChildProcess[] = []

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'first-day-'))
  const { KUBECONFIG: _cluster, NODE_OPTIONS: _options, ...rest } = process.env
  const caches = { XDG_CACHE_HOME: join(homedir(), '.cache'), npm_config_cache: join(homedir(), '.npm') }
  env = { ...caches, ...rest, HOME: home, PATH: `${dirname(process.execPath)}${delimiter}${rest['PATH']}` }
})

afterAll(async () => {
  for (const child of lasting.toReversed()) await ended(child)
  rmSync(home, { recursive: true, force: true })
})

/** Ctrl-C in its terminal. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const exit = once(child, 'exit')
  process.kill(-child.pid, 'SIGINT')
  await exit
}

/** A terminal, whose commands see the folder and the variables that those before have left. */
class Terminal {
  #folder: string
  #env = env
  readonly #state: string

  constructor(folder: string) {
    this.#folder = folder
    this.#state = join(home, '.terminal')
  }

  /** Returns the output of commands. Each must succeed. */
  run(commands: string): string {
    const script = `set -e\n${commands}\npwd > ${this.#state}.folder\nenv -0 > ${this.#state}.env\n`
    const options = { cwd: this.#folder, env: this.#env, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], options)
    expect({ commands, status, output: status === 0 ? '' : `${stdout}${stderr}` }).toMatchObject({ status: 0 })
    this.#folder = readFileSync(`${this.#state}.folder`, 'utf8').trim()
    const variables = readFileSync(`${this.#state}.env`, 'utf8').split('\0').filter(Boolean)
    this.#env = Object.fromEntries(
      variables.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
    )
    return stdout
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#folder, file), text)
  }
}

/** Starts commands in a terminal of their own, in the clone. Returns what waits until they print a text. */
function start(commands: string): (text: string) => Promise<void> {
  const child = spawn('bash', ['-c', commands], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  lasting.push(child)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    printed += part
  })
  return async (text) => {
    while (!printed.includes(text)) {
      const [part] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
      if (typeof part === 'number') throw new Error(`${commands} has ended with ${part}:\n${printed}`)
    }
  }
}

/** Does what a page says, from top to bottom. Returns what its commands have printed. */
async function follow(page: string, terminal: Terminal): Promise<string> {
  let printed = ''
  let says = async (_text: string): Promise<void> => undefined
  for (const { language, text, file, before } of docBlocks(page)) {
    const [, wanted] = /^When it says `([^`]+)`/.exec(before) ?? []
    if (wanted !== undefined) await says(wanted)
    if (file !== undefined) terminal.write(file, text)
    else if (language === 'sh' && before.endsWith(LASTS)) says = start(text)
    else if (language === 'sh') printed += terminal.run(text)
  }
  return printed
}

/** The table at the end of the page, without the age. */
function isShown(printed: string): boolean {
  const [, shown = ''] = /^(NAME .*\n.+)$/m.exec(DAY) ?? []
  const rows = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((row) => row.replace(/ +\S+$/, ''))
  return shown !== '' && rows(shown).every((row) => rows(printed).includes(row))
}

it.skipIf(!CAN_RUN)('a first day goes as the page says, and so does the construct of the last page', async () => {
  const terminal = new Terminal(ROOT)
  const printed = await follow(DAY, terminal)
  expect(lasting).toHaveLength(2)
  expect(printed).toContain('flowchart LR')
  expect(printed).toContain('workspace.pelotech.ot/first condition met')
  expect(isShown(printed), printed).toBe(true)
  expect(readFileSync(join(home, 'first-lab/first.svg'), 'utf8')).toMatch(/^<svg .*<\/svg>\n$/s)

  // Another page goes on in the same folder, with the test that it shows.
  terminal.run(/`(npm install --save-dev vitest)`/.exec(OWN)?.[1] ?? 'false')
  expect(await follow(OWN, terminal)).toContain('2 passed')
  terminal.run('node lab.ts')
  expect(readFileSync(join(home, 'first-lab/dist/labs.k8s.yaml'), 'utf8')).toContain('rangeGateway: 10.1.0.1')
})
