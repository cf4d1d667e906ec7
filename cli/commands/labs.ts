import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { choiceOf, SELECTOR, untilInterrupted } from '../options.ts'
import { OUTPUTS, type Output, showLabs } from '../show-labs.ts'
import { watchLabs } from '../watch-labs.ts'

interface LabsFlags {
  readonly selector?: string
  readonly output: Output
  readonly watch?: boolean
}

export const defineLabs: CommandDefinition = (command, surroundings) => {
  const { connected, print, clock } = surroundings
  command
    .option(...SELECTOR)
    .addOption(new Option('-o, --output <form>', 'how to print them').choices(OUTPUTS).default('table'))
    .option('-w, --watch', 'go on and show each change, until Ctrl-C')
    .addHelpText(
      'after',
      '\nExamples:\n  ot labs -l course=net-1\n  ot labs -l course=net-1 -w\n  ot labs -l course=net-1 -o name',
    )
    .action((names: string[], { output, watch, ...flags }: LabsFlags) =>
      connected(async (client) => {
        const choice = choiceOf(names, flags)
        if (watch === true) await watchLabs({ ...surroundings, client }, choice, output, untilInterrupted(surroundings))
        else print(await showLabs(client, choice, output, clock.now()))
        return EXIT_CODES.done
      }),
    )
}
