import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { operatorNamespaceOption, untilInterrupted } from '../options.ts'
import { QUEUE_FORMS, type QueueForm, showQueue, watchQueue } from '../queue/show-queue.ts'

interface QueueFlags {
  readonly namespace?: string
  readonly operatorNamespace: string
  readonly output: QueueForm
  readonly all?: boolean
  readonly watch?: boolean
}

export const defineQueue: CommandDefinition = (command, surroundings) => {
  const { connected, print, clock } = surroundings
  command
    .option('-n, --namespace <name>', 'images of this namespace alone; default: all')
    .option('-w, --watch', 'go on and show each change, until Ctrl-C')
    .option('--all', 'all rows; default: 20 of each table')
    .addOption(operatorNamespaceOption())
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(QUEUE_FORMS).default('table'))
    .addHelpText('after', '\nExamples:\n  ot queue\n  ot queue -w\n  ot queue -o json')
    .action(({ watch, all, ...flags }: QueueFlags) =>
      connected(async (client) => {
        const options = { ...flags, isAll: all === true }
        if (watch === true) await watchQueue({ ...surroundings, client }, options, untilInterrupted(surroundings))
        else print(await showQueue(client, options, clock.now()))
        return EXIT_CODES.done
      }),
    )
}
