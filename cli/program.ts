import { parseDuration } from '@open-terrain/constructs'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { messageOf } from '../operator/base/messages.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { CommandError, EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { OUTPUTS, type Output, showLabs } from './show-labs.ts'
import type { ClusterChoice, Surroundings } from './surroundings.ts'
import { switchLabs } from './switch-labs.ts'

interface Selecting {
  readonly selector?: string
}

interface SwitchFlags extends Selecting {
  readonly all?: boolean
  readonly yes?: boolean
  readonly wait?: boolean
  readonly timeout: number
  readonly output: 'text' | 'json' | 'name'
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
      'Looks at labs of Open Terrain and switches them on and off, with the rights of the caller. Also: kubectl ot',
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

  const powerVerb = (verb: 'start' | 'stop', powerState: 'Running' | 'Halted', description: string) =>
    program
      .command(`${verb} [name...]`)
      .description(description)
      .option(...SELECTOR)
      .option('--all', 'all labs of the cluster')
      .option('-y, --yes', 'do not ask')
      .option('-w, --wait', `wait until each lab is ${powerState === 'Halted' ? 'off' : 'Ready'}`)
      .addOption(new Option('--timeout <duration>', 'how long to wait').argParser(duration).default(WAIT_MS, '15m'))
      .addOption(
        new Option('-o, --output <form>', 'how to print the results').choices(['text', 'json', 'name']).default('text'),
      )
      .addHelpText('after', `\nExamples:\n  ot ${verb} lab-035\n  ot ${verb} -l course=net-1 --wait`)
      .action((names: string[], { selector, all, yes, wait, timeout, output }: SwitchFlags) =>
        connected(async (client) => {
          // Who names labs, or their class, knows which they are.
          if (all === true && yes !== true) await confirm(surroundings, `${verb} all labs of the cluster?`)
          const waitMs = wait === true ? { waitMs: timeout } : {}
          const choice = { names, output, ...waitMs, ...(selector !== undefined && { selector }), ...(all && { all }) }
          return await switchLabs({ ...surroundings, client }, powerState, choice)
        }),
      )
  powerVerb(
    'stop',
    'Halted',
    'switches labs off: guests and containers are shut down; disks, volumes and addresses stay',
  )
  powerVerb('start', 'Running', 'switches labs on again')

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

/** Throws a CommandError unless somebody says yes. */
async function confirm({ ask }: Surroundings, question: string): Promise<void> {
  if (ask === undefined)
    throw new CommandError('declined', `nobody is at a terminal to be asked "${question}": say --yes`)
  const answer = await ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('declined', 'nothing was done')
}

function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('write a duration, such as 15m or 1h30m')
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
