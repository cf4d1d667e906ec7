import { OPERATOR_NAMESPACE, type PowerState, parseDuration } from '@open-terrain/constructs/operator'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { messageOf } from '../operator/base/messages.ts'
import { fromTime } from '../operator/base/time.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { confirm } from './confirm.ts'
import { DRAWINGS, type Drawing, drawLab, drawManifest } from './draw-lab.ts'
import { CommandError, EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { extendLabs } from './extend-labs.ts'
import type { LabChoice } from './labs.ts'
import { RESULT_FORMS, type ResultForm } from './outcomes.ts'
import { PREVIEW_FORMS, type PreviewForm, previewPolicy } from './preview-policy.ts'
import { type RenewVerb, renewLabs } from './renew-labs.ts'
import { restoreLab } from './restore-lab.ts'
import { OUTPUTS, type Output, showLabs } from './show-labs.ts'
import type { ClusterChoice, Surroundings } from './surroundings.ts'
import { switchLabs } from './switch-labs.ts'

interface Selecting {
  readonly selector?: string
}

interface VerbFlags extends Selecting {
  readonly all?: boolean
  readonly yes?: boolean
  readonly output: ResultForm
}

interface SwitchFlags extends VerbFlags {
  readonly wait?: boolean
  readonly timeout: number
}

interface ExtendFlags extends VerbFlags {
  readonly by?: number
  readonly until?: number
}

interface RenewFlags extends SwitchFlags {
  readonly vm: readonly string[]
  readonly dryRun?: boolean
}

interface DrawFlags {
  readonly filename?: string
  readonly output: Drawing
}

interface RestoreFlags extends Pick<SwitchFlags, 'yes' | 'output' | 'wait' | 'timeout'> {
  readonly machinesOnly?: boolean
}

interface PruneFlags {
  readonly dryRun?: boolean
  readonly set: readonly string[]
  readonly operatorNamespace: string
  readonly output: PreviewForm
}

const SELECTOR = ['-l, --selector <labels>', 'labs with these labels, as kubectl takes them: course=net-1'] as const
const WAIT_MS = 15 * 60_000

/**
 * Runs one command line, without the name of the program. Returns how the process is to end ({@link EXIT_CODES}). Everything that goes wrong is told in one
 * sentence.
 */
export async function runOt(argv: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { print, tell } = surroundings
  let code: ExitCode = EXIT_CODES.done
  const program = new Command('ot')
    .description(
      'Looks at labs of Open Terrain, draws them, switches them on and off, extends them, and sets them back, with the rights of the caller. Also: kubectl ot',
    )
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: tell })
    .helpCommand(false)
    .showHelpAfterError('(ot --help lists the commands)')
    .addHelpText('after', `\n${endings()}`)
  const connected = async (work: (client: KubeClient) => Promise<ExitCode>): Promise<void> => {
    const { client, close } = surroundings.connect(program.opts<ClusterChoice>())
    try {
      code = await work(client)
    } finally {
      await close()
    }
  }

  program
    .command('labs [name...]')
    .description('labs at a glance: all, those that are named, or those of a class')
    .option(...SELECTOR)
    .addOption(new Option('-o, --output <form>', 'how to print them').choices(OUTPUTS).default('table'))
    .addHelpText('after', '\nExamples:\n  ot labs -l course=net-1\n  ot labs -l course=net-1 -o name')
    .action((names: string[], { selector, output }: Selecting & { readonly output: Output }) =>
      connected(async (client) => {
        const choice = { names, ...(selector !== undefined && { selector }) }
        print(await showLabs(client, choice, output, surroundings.clock.now()))
        return EXIT_CODES.done
      }),
    )

  /** A command that does something with labs. */
  const verb = (name: string, description: string) =>
    program
      .command(`${name} [name...]`)
      .description(description)
      .option(...SELECTOR)
      .option('--all', 'all labs of the cluster')
      .option('-y, --yes', 'do not ask')
      .addOption(new Option('-o, --output <form>', 'how to print the results').choices(RESULT_FORMS).default('text'))
  /** Who names labs, or their class, knows which they are. Who takes all is asked. */
  const chosen = async (
    what: string,
    names: readonly string[],
    { selector, all, yes, output }: VerbFlags,
  ): Promise<LabChoice & Pick<VerbFlags, 'output'>> => {
    if (all === true && yes !== true) await confirm(surroundings, `${what} all labs of the cluster?`)
    return { names, output, ...(selector !== undefined && { selector }), ...(all && { all }) }
  }

  const powerVerb = (name: 'start' | 'stop', powerState: PowerState, description: string) =>
    verb(name, description)
      .option('-w, --wait', `wait until each lab is ${powerState === 'Halted' ? 'off' : 'Ready'}`)
      .addOption(new Option('--timeout <duration>', 'how long to wait').argParser(duration).default(WAIT_MS, '15m'))
      .addHelpText('after', `\nExamples:\n  ot ${name} lab-035\n  ot ${name} -l course=net-1 --wait`)
      .action((names: string[], { wait, timeout, ...flags }: SwitchFlags) =>
        connected(async (client) => {
          const choice = await chosen(name, names, flags)
          const waitMs = wait === true ? { waitMs: timeout } : {}
          return await switchLabs({ ...surroundings, client }, powerState, { ...choice, ...waitMs })
        }),
      )
  powerVerb(
    'stop',
    'Halted',
    'switches labs off: guests and containers are shut down; disks, volumes and addresses stay',
  )
  powerVerb('start', 'Running', 'switches labs on again')

  const renewVerb = (name: RenewVerb, description: string) =>
    verb(name, description)
      .addOption(
        new Option('--vm <name>', 'this machine of each lab alone; may be repeated')
          .argParser(several)
          .default([], 'all'),
      )
      .option('--dry-run', 'show what would be lost, and do nothing')
      .option('-w, --wait', 'wait until each machine has its new disk and is Ready')
      .addOption(new Option('--timeout <duration>', 'how long to wait').argParser(duration).default(WAIT_MS, '15m'))
      .addHelpText(
        'after',
        `\nExamples:\n  ot ${name} lab-035 --dry-run\n  ot ${name} lab-035 --vm router --wait\n  ot ${name} -l course=net-1 --yes`,
      )
      .action((names: string[], { wait, timeout, vm, dryRun, yes, all, selector, output }: RenewFlags) =>
        connected(async (client) => {
          const choice = { names, ...(selector !== undefined && { selector }), ...(all && { all }) }
          const how = { vms: vm, isDryRun: dryRun === true, isConfirmed: yes === true, output }
          const waitMs = wait === true ? { waitMs: timeout } : {}
          return await renewLabs({ ...surroundings, client }, name, { ...choice, ...how, ...waitMs })
        }),
      )
  renewVerb(
    'rebuild',
    'makes the disks of machines again that are lost, or of an earlier spec; what is on them is lost',
  )
  renewVerb('reset', 'sets machines back to their images: all disks are made again; what is on them is lost')

  program
    .command('restore <lab> <point>')
    .description(
      'puts the machines and volumes of a lab that is off back to a WorkspaceSnapshot; what was written to them since is not used any more',
    )
    .option('--machines-only', 'leave the volumes as they are')
    .option('-y, --yes', 'do not ask')
    .option('-w, --wait', 'wait until the restore has ended')
    .addOption(new Option('--timeout <duration>', 'how long to wait').argParser(duration).default(WAIT_MS, '15m'))
    .addOption(new Option('-o, --output <form>', 'how to print the result').choices(RESULT_FORMS).default('text'))
    .addHelpText('after', '\nExamples:\n  ot stop lab-035 --wait\n  ot restore lab-035 before-exam --wait')
    .action((lab: string, point: string, { machinesOnly, yes, wait, timeout, output }: RestoreFlags) =>
      connected(async (client) => {
        const how = { point, isOfMachinesOnly: machinesOnly === true, isConfirmed: yes === true, output }
        const waitMs = wait === true ? { waitMs: timeout } : {}
        return await restoreLab({ ...surroundings, client }, lab, { ...how, ...waitMs })
      }),
    )

  verb('extend', 'gives labs a later end; one that has ended is switched on by that')
    .addOption(
      new Option('--by <duration>', 'later than its end, or than now: 24h').argParser(duration).conflicts('until'),
    )
    .addOption(new Option('--until <time>', 'such as 2026-01-31T18:00:00Z').argParser(time))
    .addHelpText(
      'after',
      '\nExamples:\n  ot extend lab-035 --by 24h\n  ot extend -l course=net-1 --until 2026-01-31T18:00:00Z',
    )
    .action((names: string[], { by, until, ...flags }: ExtendFlags) =>
      connected(async (client) => {
        if (by === undefined && until === undefined)
          throw new CommandError('usage', 'say how long (--by 24h), or until when (--until 2026-01-31T18:00:00Z)')
        const choice = await chosen('extend', names, flags)
        const end = { ...(by !== undefined && { byMs: by }), ...(until !== undefined && { untilMs: until }) }
        return await extendLabs({ ...surroundings, client }, { ...choice, ...end })
      }),
    )

  program
    .command('draw [name]')
    .description('a picture of a lab: its networks, members, addresses and ports')
    .option(
      '-f, --filename <file>',
      'draw a Workspace of this file of manifests, without a cluster; - is standard input',
    )
    .addOption(new Option('-o, --output <form>', 'how to draw it').choices(DRAWINGS).default('mermaid'))
    .addHelpText('after', '\nExamples:\n  ot draw lab-035 -o svg > lab-035.svg\n  ot draw -f examples/workspace.yaml')
    .action(async (name: string | undefined, { filename, output }: DrawFlags) => {
      if (filename !== undefined) print(await drawManifest(surroundings.readText, { filename, name, output }))
      else if (name === undefined) throw new CommandError('usage', 'name a lab, or a file of manifests with -f')
      else
        await connected(async (client) => {
          print(await drawLab(client, name, output))
          return EXIT_CODES.done
        })
    })

  program
    .command('prune')
    .description(
      'shows what the policy ends: images that the operator deletes, and labs that it switches off, and when',
    )
    .option('--dry-run', 'has to be said: the operator deletes by itself, as the policy says')
    .addOption(
      new Option('--set <key=value>', 'as if the policy had this value; may be repeated')
        .argParser(several)
        .default([], 'none'),
    )
    .addOption(
      new Option('--operator-namespace <name>', 'where the policy is')
        .env('OPERATOR_NAMESPACE')
        .default(OPERATOR_NAMESPACE),
    )
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(PREVIEW_FORMS).default('table'))
    .addHelpText(
      'after',
      '\nExamples:\n  ot prune --dry-run --set unreferencedTTL=0s\n  ot prune --dry-run --set workspaceLifetime=72h',
    )
    .action(({ dryRun, set, operatorNamespace: namespace, output }: PruneFlags) =>
      connected(async (client) => {
        if (dryRun !== true)
          throw new CommandError(
            'usage',
            'prune only shows: say --dry-run; the operator deletes images itself, as the policy says',
          )
        print(await previewPolicy(client, { namespace, changes: set, output }, surroundings.clock.now()))
        return EXIT_CODES.done
      }),
    )

  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    // It has been told already. Help is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage
    tell(`ot: ${messageOf(error)}\n`)
    return error instanceof CommandError ? error.code : EXIT_CODES.failed
  }
}

function several(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}

function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('write a duration, such as 15m or 1h30m')
  return ms
}

function time(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? fromTime(text) : undefined
  if (ms === undefined) throw new InvalidArgumentError('write a time, such as 2026-01-31T18:00:00Z')
  return ms
}

function endings(): string {
  return [
    'Exit codes:',
    `  ${EXIT_CODES.done}  all was done, or was so already`,
    `  ${EXIT_CODES.failed}  something could not be changed, has failed, or the API server could not be asked`,
    `  ${EXIT_CODES.usage}  the command line is not right; nothing was done`,
    `  ${EXIT_CODES.notFound}  what was asked for does not exist`,
    `  ${EXIT_CODES.timedOut}  --wait has ended before all labs were so`,
    `  ${EXIT_CODES.declined}  nobody said yes; nothing was done`,
  ].join('\n')
}
