import { SNAPSHOT_DEADLINE, type WorkspaceSnapshotSpec } from '@open-terrain/constructs/operator'
import type { CommandDefinition } from '../command-line.ts'
import { CommandError } from '../exit-codes.ts'
import { addSelection, addWait, choiceOf, confirmAll, type SelectionFlags, type WaitFlags, waitOf } from '../options.ts'
import { snapshotLabs } from '../snapshot-labs.ts'

interface SnapshotFlags extends SelectionFlags, WaitFlags {
  readonly description?: string
  readonly snapshotClass?: string
  readonly failureDeadline?: string
}

export const defineSnapshot: CommandDefinition = (command, line) => {
  addSelection(command)
    .option('--description <text>', 'what this point in time is, for people')
    .option('--snapshot-class <name>', 'volume snapshot class for the volumes; default: that of the cluster')
    .option('--failure-deadline <duration>', `how long a snapshot may take; default: ${SNAPSHOT_DEADLINE}`)
  addWait(command, 'wait until every snapshot can be restored from')
    .addHelpText(
      'after',
      '\nExamples:\n  ot snapshot lab-035 before-exam --wait\n  ot snapshot before-exam -l course=net-1 --description "before the exam"',
    )
    .action((words: string[], { description, snapshotClass, failureDeadline, ...flags }: SnapshotFlags) =>
      line.connected(async (client) => {
        const isSelected = flags.selector !== undefined || flags.all === true
        const point = words.at(-1)
        if (point === undefined || words.length !== (isSelected ? 1 : 2))
          throw new CommandError(
            'usage',
            'say a lab and a name: ot snapshot lab-035 before-exam; with -l or --all, a name alone',
          )
        await confirmAll(line, 'snapshot', flags)
        const spec: WorkspaceSnapshotSpec = {
          ...(description !== undefined && { description }),
          ...(snapshotClass !== undefined && { snapshotClass }),
          ...(failureDeadline !== undefined && { failureDeadline }),
        }
        const how = { point, spec, output: flags.output, ...waitOf(flags) }
        return await snapshotLabs({ ...line, client }, { ...choiceOf(words.slice(0, -1), flags), ...how })
      }),
    )
}
