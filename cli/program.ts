import { Command, CommanderError } from 'commander'
import { messageOf } from '../operator/base/messages.ts'
import { colored } from './colors.ts'
import type { CommandDefinition, CommandLine } from './command-line.ts'
import { COMMANDS } from './commands.ts'
import { CommandError, EXIT_CODES, type ExitCode } from './exit-codes.ts'
import type { ClusterChoice, Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** Values of `-o` that print tables and stories. Commands without `-o` print scripts, files or addresses. */
const FORMS_FOR_PEOPLE: ReadonlySet<string> = new Set(['table', 'wide', 'text'])

/**
 * Runs one command line, without the name of the program. Returns how the process is to end ({@link EXIT_CODES}). Everything that goes wrong is told in one
 * sentence.
 */
export async function runOt(argv: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { tell } = surroundings
  let isForPeople = false
  const print = (text: string) => surroundings.print(isForPeople ? colored(text) : text)
  let code: ExitCode = EXIT_CODES.done
  const program = new Command('ot')
    .description(
      'Looks at labs of Open Terrain and at the queue of their images, says why something is as it is, draws labs, switches them on and off, extends them, and sets them back, with the rights of the caller. Also: kubectl ot',
    )
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: tell })
    .helpCommand(false)
    .showHelpAfterError('(ot --help lists the commands)')
    .addHelpText('after', `\n${endings()}`)
  const connected: CommandLine['connected'] = async (work) => {
    const cluster = program.opts<ClusterChoice>()
    const { client, namespace = 'default', readPath, close } = await surroundings.connect(cluster)
    try {
      code = await work(client, { cluster, namespace, readPath })
    } finally {
      await close()
    }
  }

  const offline: CommandLine['offline'] = async (work) => {
    code = await work()
  }

  const loads = new Map<Command, () => Promise<CommandDefinition>>()
  for (const { usage, description, load } of COMMANDS) loads.set(program.command(usage).description(description), load)
  program.hook('preSubcommand', async (_, command) => {
    const define = await loads.get(command)?.()
    define?.(command, { ...surroundings, print, connected, offline })
  })

  program.hook('preAction', (_, command) => {
    const { output = '' } = command.opts<{ readonly output?: string }>()
    isForPeople = surroundings.hasColors === true && FORMS_FOR_PEOPLE.has(output)
  })

  if (argv[0] === '__complete') return await complete(argv.slice(1), { ...surroundings, connected, offline })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    // It has been told already. Help is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage
    // The API server may quote what others have written.
    tell(`ot: ${shown(messageOf(error))}\n`)
    return error instanceof CommandError ? error.code : EXIT_CODES.failed
  }
}

/** Prints the words that may stand next, one a line. A shell shows no errors. */
async function complete(words: readonly string[], line: CommandLine): Promise<ExitCode> {
  const { completionsOf, labNamesOf, withoutClusterChoice } = await import('./completion.ts')
  const { choice, rest } = withoutClusterChoice(words)
  const labNames = async () => {
    const { client, close } = await line.connect(choice)
    try {
      return await labNamesOf(client)
    } finally {
      await close()
    }
  }
  const found = await completionsOf(COMMANDS, rest, line, labNames).catch(() => [])
  for (const word of found) line.print(`${word}\n`)
  return EXIT_CODES.done
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
