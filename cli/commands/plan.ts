import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { addPolicy, type PolicyFlags, severalOf } from '../options.ts'
import { PLAN_FORMS, type PlanForm, showPlan, showPlanDifference } from '../show-plan.ts'

interface PlanFlags extends PolicyFlags {
  readonly filename: string
  readonly namespace?: string
  readonly diff?: boolean
  readonly image: readonly string[]
  readonly output?: PlanForm
}

export const definePlan: CommandDefinition = (command, line) => {
  addPolicy(
    command
      .requiredOption('-f, --filename <file>', 'a file of manifests in YAML or JSON; - is standard input')
      .option('-n, --namespace <name>', 'of objects that name none; default: default, with --diff that of the context')
      .option('--diff', 'compare with the cluster: what would be created, changed and deleted; changes nothing')
      .addOption(
        new Option('--image <name=size>', 'this image is Ready, and has that size: kali=20Gi; may be repeated')
          .argParser(severalOf)
          .default([], 'those of the file and of templates'),
      ),
  )
    .addOption(
      new Option('-o, --output <form>', 'how to print it; default: yaml, with --diff a table').choices(PLAN_FORMS),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  ot plan -f examples/workspace.yaml -o name\n  ot plan -f lab.yaml --image kali=20Gi --set networkDriver=ovn-layer2\n  ot plan -f lab.yaml --diff',
    )
    .action(async ({ filename, namespace, diff, image: images, set, operatorNamespace, output }: PlanFlags) => {
      const options = { filename, images, changes: set, output }
      if (diff !== true) await line.offline(() => showPlan(line, { ...options, namespace: namespace ?? 'default' }))
      else
        await line.connected(async (client, context) => {
          const where = { namespace: namespace ?? context.namespace, operatorNamespace }
          return await showPlanDifference(line, client, { ...options, ...where })
        })
    })
}
