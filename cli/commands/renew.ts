import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { giveUpDisks } from '../give-up-disks.ts'
import { addSelection, addWait, choiceOf, type SelectionFlags, severalOf, type WaitFlags, waitOf } from '../options.ts'
import { type RenewVerb, renewLabs } from '../renew-labs.ts'

interface RenewFlags extends SelectionFlags, WaitFlags {
  readonly vm: readonly string[]
  readonly dryRun?: boolean
  readonly deleteDiskFirst?: boolean
}

export const defineRebuild: CommandDefinition = definitionOf('rebuild')
export const defineReset: CommandDefinition = definitionOf('reset')

function definitionOf(name: RenewVerb): CommandDefinition {
  return (command, line) => {
    addSelection(command)
      .addOption(
        new Option('--vm <name>', 'this machine of each lab alone; may be repeated')
          .argParser(severalOf)
          .default([], 'all'),
      )
      .option('--dry-run', 'show what would be lost, and do nothing')
      .option(
        '--delete-disk-first',
        'of machines that were asked before and have no room for two root disks, delete the present ones first',
      )
    addWait(command, 'wait until each machine has its new disk and is Ready')
      .addHelpText(
        'after',
        `\nExamples:\n  ot ${name} lab-035 --dry-run\n  ot ${name} lab-035 --vm router --wait\n  ot ${name} -l course=net-1 --yes`,
      )
      .action((names: string[], { vm, dryRun, deleteDiskFirst, yes, output, ...flags }: RenewFlags) =>
        line.connected(async (client) => {
          const how = { vms: vm, isDryRun: dryRun === true, isConfirmed: yes === true, output }
          const options = { ...choiceOf(names, flags), ...how, ...waitOf(flags) }
          const renew = deleteDiskFirst === true ? giveUpDisks : renewLabs
          return await renew({ ...line, client }, name, options)
        }),
      )
  }
}
