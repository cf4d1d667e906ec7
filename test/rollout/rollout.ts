import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  type EngineEvent,
  LocalWorkspace,
  type OutputMap,
  type PreviewOptions,
  PulumiCommand,
  type Stack,
} from '@pulumi/pulumi/automation/index.js'
import { inject } from 'vitest'
import { parseDocument } from 'yaml'
import { environmentsIn } from '../../infra/stack-files.ts'

const ROOT = join(import.meta.dirname, '../..')

/** A command of a stack that takes this long hangs. */
const HANGS_AFTER_MS = 4 * 60_000

/** Operations that leave an object as it is. */
const NOTHING = ['same', 'refresh', 'read']

type Environment = Readonly<Record<string, string>>

/** What a command did, or would do. */
export interface Outcome {
  /** `<operation> <kind> <name>` of each object that is touched, in alphabetical order. */
  readonly steps: readonly string[]
  readonly outputs: OutputMap
}

/**
 * The state of stacks on this machine, and the CLI that uses it in a folder that looks like this repository. The stack files there are
 * copies, because Pulumi writes to them.
 */
export class Workshop {
  readonly folder: string
  readonly #command: PulumiCommand
  readonly #env: Record<string, string>

  private constructor(folder: string, command: PulumiCommand) {
    this.folder = folder
    this.#command = command
    const { root, languageHost = '' } = inject('pulumi')
    const cli = root === undefined ? '' : join(root, 'bin')
    const plugins = [inject('kubernetesPlugin').folder, inject('policyPack').path ?? '', languageHost]
    this.#env = {
      // Programs run on the Node of these tests.
      PATH: [cli, ...plugins, dirname(process.execPath), process.env['PATH']].filter(Boolean).join(delimiter),
      PULUMI_HOME: join(folder, 'home'),
      PULUMI_BACKEND_URL: `file://${join(folder, 'state')}`,
      PULUMI_CONFIG_PASSPHRASE: '',
      PULUMI_SKIP_UPDATE_CHECK: '1',
      // A missing plugin fails at once, instead of after many attempts to download it.
      PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: '1',
      // Each command loads the program, and the kinds of all of Kubernetes with it: what Node has compiled serves the next ones.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      // People who run the tests may have their own clusters.
      KUBECONFIG: join(folder, 'none'),
    }
  }

  static async open(): Promise<Workshop> {
    const { root } = inject('pulumi')
    const command = await PulumiCommand.get(root === undefined ? {} : { root })
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-rollout-'))
    for (const name of ['home', 'state', 'project']) await mkdir(join(folder, name))
    const workshop = new Workshop(folder, command)
    const stackFiles = environmentsIn(ROOT).map((name) => `Pulumi.${name}.yaml`)
    for (const file of ['Pulumi.yaml', ...stackFiles]) await copyFile(join(ROOT, file), join(workshop.project, file))
    for (const name of ['infra', 'node_modules', 'package.json'])
      await symlink(join(ROOT, name), join(workshop.project, name))
    return workshop
  }

  /** Takes the place of the top folder of this repository. */
  get project(): string {
    return join(this.folder, 'project')
  }

  /** Selects a stack of this repository's program. Its commands run with `env` in addition. */
  async stack(name: string, env: Environment = {}): Promise<Rollout> {
    return await this.#select(name, this.project, env)
  }

  /** Selects a stack of `examples/<example>`. */
  async example(example: string, name: string, env: Environment = {}): Promise<Rollout> {
    const [from, to] = [join(ROOT, 'examples', example), join(this.folder, example)]
    await mkdir(to)
    await copyFile(join(from, 'Pulumi.yaml'), join(to, 'Pulumi.yaml'))
    for (const file of ['index.ts', 'package.json']) await symlink(join(from, file), join(to, file))
    await symlink(join(ROOT, 'node_modules'), join(to, 'node_modules'))
    return await this.#select(name, to, env)
  }

  /** Makes another program out of this repository's, for all its stacks. */
  async rewriteProgram(rewrite: (text: string) => string): Promise<void> {
    const text = await readFile(join(ROOT, 'infra/program.ts'), 'utf8')
    const rewritten = rewrite(text)
    if (rewritten === text) throw new Error('the program is as it was')
    await writeFile(join(this.project, 'program.ts'), rewritten.replaceAll("from './", "from './infra/"))
    const file = join(this.project, 'Pulumi.yaml')
    await writeFile(file, (await readFile(file, 'utf8')).replace('main: infra/program.ts', 'main: program.ts'))
  }

  /** Runs a shell line in the top folder, as people type it, and answers yes to its questions. Throws with the output if it fails. */
  async type(line: string, env: Environment): Promise<string> {
    const options = { cwd: this.project, timeout: HANGS_AFTER_MS, maxBuffer: 64 * 1024 ** 2 }
    const answers = { PULUMI_SKIP_CONFIRMATIONS: 'true' }
    const all = { ...process.env, ...this.#env, ...answers, ...env }
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { ...options, env: all })
    return stdout
  }

  /** All that is kept of all stacks, as it lies there. `exportStack` of Pulumi decrypts it. */
  async state(): Promise<string> {
    const folder = join(this.folder, 'state')
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    return (await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')))).join('\n')
  }

  async #select(stackName: string, workDir: string, env: Environment): Promise<Rollout> {
    const options = { pulumiCommand: this.#command, envVars: { ...this.#env, ...env } }
    const stack = await LocalWorkspace.createOrSelectStack({ stackName, workDir }, options)
    const { name } = await stack.workspace.projectSettings()
    return new Rollout(stack, name)
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** The commands of one stack. Each one fails instead of hanging. */
export class Rollout {
  readonly stack: Stack
  readonly #project: string

  constructor(stack: Stack, project: string) {
    this.stack = stack
    this.#project = project
  }

  /** Writes keys, given without their prefix, to the file of the stack, and leaves the others unchanged. */
  async configure(values: Readonly<Record<string, unknown>>): Promise<void> {
    const file = join(this.stack.workspace.workDir, `Pulumi.${this.stack.name}.yaml`)
    const content = parseDocument(await readFile(file, 'utf8'))
    for (const [key, value] of Object.entries(values)) content.setIn(['config', `${this.#project}:${key}`], value)
    await writeFile(file, String(content))
  }

  up(): Promise<Outcome> {
    return this.#watch((options) => this.stack.up(options))
  }

  preview(options: Pick<PreviewOptions, 'policyPacks' | 'policyPackConfigs'> = {}): Promise<Outcome> {
    return this.#watch((common) => this.stack.preview({ ...common, ...options }))
  }

  /** Reads the cluster. The steps are the changes there since the last command. */
  refresh(): Promise<Outcome> {
    return this.#watch((options) => this.stack.refresh(options))
  }

  destroy(): Promise<Outcome> {
    return this.#watch((options) => this.stack.destroy(options))
  }

  async #watch(command: (options: CommandOptions) => Promise<object>): Promise<Outcome> {
    const steps: string[] = []
    const onEvent = ({ resourcePreEvent, resOutputsEvent }: EngineEvent) => {
      const { metadata } = resourcePreEvent ?? resOutputsEvent ?? {}
      if (metadata === undefined || NOTHING.includes(metadata.op) || !metadata.type.startsWith('kubernetes:')) return
      const [kind, name] = [metadata.type.split(':').at(-1), metadata.urn.split('/').at(-1)]
      steps.push(`${metadata.op} ${kind} ${name}`)
    }
    const result = await command({ onEvent, signal: AbortSignal.timeout(HANGS_AFTER_MS), color: 'never' })
    return { steps: [...new Set(steps)].sort(), outputs: 'outputs' in result ? (result.outputs as OutputMap) : {} }
  }
}

interface CommandOptions {
  readonly onEvent: (event: EngineEvent) => void
  readonly signal: AbortSignal
  readonly color: 'never'
}
