import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type EngineEvent, LocalWorkspace, PulumiCommand, type Stack } from '@pulumi/pulumi/automation/index.js'
import { inject } from 'vitest'
import { parseDocument } from 'yaml'
import { environmentsIn } from '../../infra/stack-files.ts'
import { StandInServer } from './stand-in-provider/server.ts'

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
  /** What the program exports. Empty unless the command runs it to its end. */
  readonly outputs: Readonly<Record<string, unknown>>
}

/**
 * The state of stacks on this machine, and the CLI that uses it in a folder that looks like this repository. The stack files there are
 * copies, because Pulumi writes to them.
 */
export class Workshop {
  readonly folder: string
  readonly #command: PulumiCommand
  readonly #env: Record<string, string>
  /** By the kubeconfig of the user. */
  readonly #standIns = new Map<string, StandInServer>()

  private constructor(folder: string, command: PulumiCommand) {
    this.folder = folder
    this.#command = command
    const { root, languageHost = '' } = inject('pulumi')
    const cli = root === undefined ? '' : join(root, 'bin')
    const plugin = inject('kubernetesPlugin')
    const plugins = [plugin.type === 'real' ? plugin.folder : '', inject('policyPack').path ?? '', languageHost]
    this.#env = {
      // Programs run on the Node of these tests.
      PATH: [cli, ...plugins, dirname(process.execPath), process.env['PATH']].filter(Boolean).join(delimiter),
      PULUMI_HOME: join(folder, 'home'),
      PULUMI_BACKEND_URL: `file://${join(folder, 'state')}`,
      PULUMI_CONFIG_PASSPHRASE: '',
      PULUMI_SKIP_UPDATE_CHECK: '1',
      // A missing plugin fails at once, instead of after many attempts to download it.
      PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: '1',
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
    const all = { ...process.env, ...(await this.#environment(env)), ...answers }
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
    const options = { pulumiCommand: this.#command, envVars: await this.#environment(env) }
    const stack = await LocalWorkspace.createOrSelectStack({ stackName, workDir }, options)
    const { name } = await stack.workspace.projectSettings()
    return new Rollout(stack, name, join(this.folder, 'events'))
  }

  async #environment(env: Environment): Promise<Record<string, string>> {
    const all = { ...this.#env, ...env }
    if (inject('kubernetesPlugin').type === 'real') return all
    const kubeconfig = all['KUBECONFIG'] as string
    const standIn = this.#standIns.get(kubeconfig) ?? (await StandInServer.start(kubeconfig))
    this.#standIns.set(kubeconfig, standIn)
    return { ...all, PULUMI_DEBUG_PROVIDERS: `kubernetes:${standIn.port}` }
  }

  async close(): Promise<void> {
    for (const standIn of this.#standIns.values()) standIn.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** The commands of one stack. Each one fails instead of hanging. */
export class Rollout {
  readonly stack: Stack
  readonly #project: string
  readonly #events: string

  /** @param events file for what the engine tells during a command */
  constructor(stack: Stack, project: string, events: string) {
    this.stack = stack
    this.#project = project
    this.#events = events
  }

  /** Writes keys, given without their prefix, to the file of the stack, and leaves the others unchanged. */
  async configure(values: Readonly<Record<string, unknown>>): Promise<void> {
    const file = join(this.stack.workspace.workDir, `Pulumi.${this.stack.name}.yaml`)
    const content = parseDocument(await readFile(file, 'utf8'))
    for (const [key, value] of Object.entries(values)) content.setIn(['config', `${this.#project}:${key}`], value)
    await writeFile(file, String(content))
  }

  up(): Promise<Outcome> {
    return this.#run('up', '--yes', '--skip-preview')
  }

  preview({ refresh = false, policyPacks = [], policyPackConfigs = [] }: PreviewOptions = {}): Promise<Outcome> {
    const packs = policyPacks.flatMap((pack) => ['--policy-pack', pack])
    const configs = policyPackConfigs.flatMap((file) => ['--policy-pack-config', file])
    return this.#run('preview', ...(refresh ? ['--refresh'] : []), ...packs, ...configs)
  }

  /** Reads the cluster. The steps are the changes there since the last command. */
  refresh(): Promise<Outcome> {
    return this.#run('refresh', '--yes', '--skip-preview')
  }

  destroy(): Promise<Outcome> {
    return this.#run('destroy', '--yes', '--skip-preview')
  }

  /** Runs the CLI as the Automation API does, without the three commands by which that reads outputs and history after each one. */
  async #run(...command: string[]): Promise<Outcome> {
    await rm(this.#events, { force: true })
    const { name, workspace } = this.stack
    const options = ['--color', 'never', '--non-interactive', '--stack', name, '--event-log', this.#events]
    // It hides the log of events from people.
    const env = { ...process.env, ...workspace.envVars, PULUMI_DEBUG_COMMANDS: 'true' }
    const limits = { timeout: HANGS_AFTER_MS, killSignal: 'SIGINT', maxBuffer: 64 * 1024 ** 2 } as const
    const cli = workspace.pulumiCommand.command
    await promisify(execFile)(cli, [...command, ...options], { cwd: workspace.workDir, env, ...limits }).catch(
      ({ message, stdout }: Error & { stdout: string }) => {
        throw new Error(`${message}\n${stdout}`)
      },
    )
    return outcomeOf(await readFile(this.#events, 'utf8'))
  }
}

interface PreviewOptions {
  /** Reads the cluster first. What has changed there is among the steps. */
  readonly refresh?: boolean
  readonly policyPacks?: readonly string[]
  readonly policyPackConfigs?: readonly string[]
}

/** @param log an event on each line, as JSON */
function outcomeOf(log: string): Outcome {
  const steps = new Set<string>()
  let outputs = {}
  for (const line of log.split('\n').filter((one) => one !== '')) {
    const { resourcePreEvent, resOutputsEvent } = JSON.parse(line) as EngineEvent
    const { metadata } = resourcePreEvent ?? resOutputsEvent ?? {}
    if (metadata === undefined) continue
    if (metadata.type === 'pulumi:pulumi:Stack') outputs = metadata.new?.outputs ?? outputs
    if (NOTHING.includes(metadata.op) || !metadata.type.startsWith('kubernetes:')) continue
    const [kind, name] = [metadata.type.split(':').at(-1), metadata.urn.split('/').at(-1)]
    steps.add(`${metadata.op} ${kind} ${name}`)
  }
  return { steps: [...steps].sort(), outputs }
}
