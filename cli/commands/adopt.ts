import { Option } from 'commander'
import { ADOPT_FORMS, type AdoptOptions, adoptImages } from '../adopt/adopt-images.ts'
import type { CommandDefinition } from '../command-line.ts'
import { addNamespace, chosenNamespace, type NamespaceFlags } from '../options.ts'

interface AdoptFlags extends NamespaceFlags {
  readonly selector?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly output: AdoptOptions['output']
}

export const defineAdopt: CommandDefinition = (command, line) => {
  addNamespace(command)
    .option('-l, --selector <labels>', 'only those with these labels: course=net-1')
    .addOption(new Option('-y, --yes', 'do it, and do not ask').conflicts('dryRun'))
    .option('--dry-run', 'only show it; without a terminal and --yes, nothing else is done either')
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(ADOPT_FORMS).default('text'))
    .addHelpText('after', '\nExamples:\n  ot adopt -A\n  ot adopt -n vmdi-farm kali-1.0 --yes')
    .action((names: string[], flags: AdoptFlags) =>
      line.connected(async (client, context) => {
        const { selector, yes = false, dryRun = false, output } = flags
        return await adoptImages(
          { ...line, client },
          {
            names,
            namespace: chosenNamespace(flags, context),
            ...(selector !== undefined && { selector }),
            isAgreed: yes,
            isDryRun: dryRun,
            output,
          },
        )
      }),
    )
}
