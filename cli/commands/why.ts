import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { operatorNamespaceOption } from '../options.ts'
import { showWhy, WHY_FORMS, type WhyForm } from '../why/show-why.ts'

interface WhyFlags {
  readonly namespace?: string
  readonly operatorNamespace: string
  readonly output: WhyForm
}

export const defineWhy: CommandDefinition = (command, { connected, print, clock }) => {
  command
    .option('-n, --namespace <name>', 'where the object is; default: wherever the only one of that name is')
    .addOption(operatorNamespaceOption())
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(WHY_FORMS).default('text'))
    .addHelpText(
      'after',
      '\nThe object is KIND/NAME, KIND NAME, or the name of a lab. Kinds are those of kubectl: otws, otvm, vmdi, dsync, otwss.' +
        '\n\nExamples:\n  ot why lab-035\n  ot why otvm/router -n lab-035\n  ot why vmdi kali',
    )
    .action((object: string, name: string | undefined, flags: WhyFlags) =>
      connected(async (client, { cluster }) => {
        const words = name === undefined ? [object] : [object, name]
        print(await showWhy(client, { ...flags, words, cluster }, clock.now()))
        return EXIT_CODES.done
      }),
    )
}
