import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { CommandError, EXIT_CODES } from '../exit-codes.ts'
import { addPolicy, type PolicyFlags } from '../options.ts'
import { PREVIEW_FORMS, type PreviewForm, previewPolicy } from '../preview-policy.ts'

interface PruneFlags extends PolicyFlags {
  readonly dryRun?: boolean
  readonly output: PreviewForm
}

export const definePrune: CommandDefinition = (command, { connected, print, tell, clock }) => {
  addPolicy(command)
    .option('--dry-run', 'has to be said: the operator deletes by itself, as the policy says')
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
        print(await previewPolicy(client, { namespace, changes: set, output, tell }, clock.now()))
        return EXIT_CODES.done
      }),
    )
}
