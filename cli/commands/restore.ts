import type { CommandDefinition } from '../command-line.ts'
import { addResults, addWait, type SelectionFlags, type WaitFlags, waitOf } from '../options.ts'
import { restoreLab } from '../restore-lab.ts'

interface RestoreFlags extends Pick<SelectionFlags, 'yes' | 'output'>, WaitFlags {
  readonly machinesOnly?: boolean
}

export const defineRestore: CommandDefinition = (command, line) => {
  command.option('--machines-only', 'leave the volumes as they are').option('-y, --yes', 'do not ask')
  addResults(addWait(command, 'wait until the restore has ended'))
    .addHelpText('after', '\nExamples:\n  ot stop lab-035 --wait\n  ot restore lab-035 before-exam --wait')
    .action((lab: string, point: string, { machinesOnly, yes, output, ...flags }: RestoreFlags) =>
      line.connected(async (client) => {
        const how = { point, isOfMachinesOnly: machinesOnly === true, isConfirmed: yes === true, output }
        return await restoreLab({ ...line, client }, lab, { ...how, ...waitOf(flags) })
      }),
    )
}
