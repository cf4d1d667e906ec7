import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { choiceOf, SELECTOR } from '../options.ts'
import { OUTPUTS, type Output, showLabs } from '../show-labs.ts'

interface LabsFlags {
  readonly selector?: string
  readonly output: Output
}

export const defineLabs: CommandDefinition = (command, { connected, print, clock }) => {
  command
    .option(...SELECTOR)
    .addOption(new Option('-o, --output <form>', 'how to print them').choices(OUTPUTS).default('table'))
    .addHelpText('after', '\nExamples:\n  ot labs -l course=net-1\n  ot labs -l course=net-1 -o name')
    .action((names: string[], { output, ...flags }: LabsFlags) =>
      connected(async (client) => {
        print(await showLabs(client, choiceOf(names, flags), output, clock.now()))
        return EXIT_CODES.done
      }),
    )
}
