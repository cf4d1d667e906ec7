import { OPERATOR_NAMESPACE } from '@open-terrain/constructs/operator'
import { type Command, Option } from 'commander'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { QUEUE_FORMS, type QueueForm, showQueue, watchQueue } from './queue/show-queue.ts'
import type { Surroundings } from './surroundings.ts'
import { showTree, TREE_FORMS, type TreeForm } from './tree/show-tree.ts'
import { showWhy, WHY_FORMS, type WhyForm } from './why/show-why.ts'

/** Runs the work of a command with a client, which is closed afterwards. */
export type Connecting = (work: (client: KubeClient) => Promise<ExitCode>) => Promise<void>

interface QueueFlags {
  readonly namespace?: string
  readonly operatorNamespace: string
  readonly output: QueueForm
  readonly all?: boolean
  readonly watch?: boolean
}

/** Adds the commands that look and explain, and change nothing. */
export function addExplainCommands(program: Command, connected: Connecting, surroundings: Surroundings): void {
  const { clock, print } = surroundings

  program
    .command('queue')
    .description(
      'the queue of downloads: who has the slots, who waits for one in which place, who waits for something else, and what for',
    )
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

  program
    .command('why <object> [name]')
    .description(
      'why something is as it is: the chain from a lab, machine, image, DataSync or snapshot to its causes, and what to do about them',
    )
    .option('-n, --namespace <name>', 'where the object is; default: wherever the only one of that name is')
    .addOption(operatorNamespaceOption())
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(WHY_FORMS).default('text'))
    .addHelpText(
      'after',
      '\nThe object is KIND/NAME, KIND NAME, or the name of a lab. Kinds are those of kubectl: otws, otvm, vmdi, dsync, otwss.' +
        '\n\nExamples:\n  ot why lab-035\n  ot why otvm/router -n lab-035\n  ot why vmdi kali',
    )
    .action((object: string, name: string | undefined, flags: WhyFlags) =>
      connected(async (client) => {
        print(await showWhy(client, { ...flags, words: name === undefined ? [object] : [object, name] }, clock.now()))
        return EXIT_CODES.done
      }),
    )

  program
    .command('tree <lab>')
    .description(
      'the objects of a lab as a tree, down to pods and claims, each with its state, and the images that it names',
    )
    .addOption(new Option('-o, --output <form>', 'how to print it').choices(TREE_FORMS).default('table'))
    .addHelpText('after', '\nExamples:\n  ot tree lab-035\n  ot tree lab-035 -o json')
    .action((lab: string, { output }: { readonly output: TreeForm }) =>
      connected(async (client) => {
        print(await showTree(client, lab, output))
        return EXIT_CODES.done
      }),
    )
}

interface WhyFlags {
  readonly namespace?: string
  readonly operatorNamespace: string
  readonly output: WhyForm
}

/** Returns the option that says where the operator, its policy and the ledger of slots are. */
function operatorNamespaceOption(): Option {
  return new Option('--operator-namespace <name>', 'where the operator is')
    .env('OPERATOR_NAMESPACE')
    .default(OPERATOR_NAMESPACE)
}

/** Returns when a command that goes on by itself is to end. */
export function untilInterrupted({ interrupted }: Pick<Surroundings, 'interrupted'>): AbortSignal {
  return interrupted?.() ?? new AbortController().signal
}
