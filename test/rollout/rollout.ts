import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import {
  type EngineEvent,
  LocalWorkspace,
  type OutputMap,
  PulumiCommand,
  type PulumiFn,
  type Stack,
} from '@pulumi/pulumi/automation/index.js'
import { inject } from 'vitest'

/** No command of a stack takes so long; one that does hangs. */
const HANGS_AFTER_MS = 4 * 60_000

/** Operations that leave an object as it is. */
const NOTHING = ['same', 'refresh', 'read']

/** What a command did, or would do. */
export interface Outcome {
  /** `<operation> <kind> <name>` of each object that is touched, in alphabetical order. */
  readonly steps: readonly string[]
  readonly outputs: OutputMap
}

/** The state of stacks on this machine, and the CLI that works on it. */
export class Workshop {
  readonly folder: string
  readonly #command: PulumiCommand
  readonly #env: Record<string, string>

  private constructor(folder: string, command: PulumiCommand) {
    this.folder = folder
    this.#command = command
    this.#env = {
      PATH: [inject('kubernetesPlugin').folder, process.env['PATH']].join(delimiter),
      PULUMI_HOME: join(folder, 'home'),
      PULUMI_BACKEND_URL: `file://${join(folder, 'state')}`,
      PULUMI_CONFIG_PASSPHRASE: '',
      PULUMI_SKIP_UPDATE_CHECK: '1',
      // What is missing fails at once, instead of after many tries to download it.
      PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: '1',
      // Whoever runs the tests may have clusters of their own.
      KUBECONFIG: join(folder, 'none'),
    }
  }

  static async open(): Promise<Workshop> {
    const { root } = inject('pulumi')
    const command = await PulumiCommand.get(root === undefined ? {} : { root })
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-rollout-'))
    for (const name of ['home', 'state', 'project']) await mkdir(join(folder, name))
    return new Workshop(folder, command)
  }

  /** A stack of `program` for a cluster. */
  async stack(name: string, kubeconfig: string, program: PulumiFn): Promise<Rollout> {
    const args = { stackName: name, projectName: 'open-terrain', program }
    const options = { workDir: join(this.folder, 'project'), pulumiCommand: this.#command, envVars: this.#env }
    const stack = await LocalWorkspace.createOrSelectStack(args, options)
    await stack.setConfig('kubernetes:kubeconfig', { value: kubeconfig, secret: true })
    return new Rollout(stack)
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** The commands of one stack, each of which fails instead of hanging. */
export class Rollout {
  readonly stack: Stack

  constructor(stack: Stack) {
    this.stack = stack
  }

  /** Sets keys of the configuration of the stack, without their prefix, and leaves the others as they are. */
  async configure(values: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [key, value] of Object.entries(values)) {
      await this.stack.setConfig(`open-terrain:${key}`, {
        value: typeof value === 'string' ? value : JSON.stringify(value),
      })
    }
  }

  up(): Promise<Outcome> {
    return this.#watch((options) => this.stack.up(options))
  }

  preview(): Promise<Outcome> {
    return this.#watch((options) => this.stack.preview(options))
  }

  /** Looks at the cluster. The steps are what has changed there since the last command. */
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
