import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { showTree, TREE_FORMS, type TreeForm } from '../tree/show-tree.ts'

export const defineTree: CommandDefinition = (command, { connected, print }) => {
  command
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(TREE_FORMS).default('table'))
    .addHelpText('after', '\nExamples:\n  ot tree lab-035\n  ot tree lab-035 -o json')
    .action((lab: string, { output }: { readonly output: TreeForm }) =>
      connected(async (client) => {
        print(await showTree(client, lab, output))
        return EXIT_CODES.done
      }),
    )
}
