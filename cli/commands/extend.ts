import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { CommandError } from '../exit-codes.ts'
import { extendLabs } from '../extend-labs.ts'
import { addSelection, choiceOf, confirmAll, durationOf, type SelectionFlags, timeOf } from '../options.ts'

interface ExtendFlags extends SelectionFlags {
  readonly by?: number
  readonly until?: number
}

export const defineExtend: CommandDefinition = (command, line) => {
  addSelection(command)
    .addOption(
      new Option('--by <duration>', 'later than its end, or than now: 24h').argParser(durationOf).conflicts('until'),
    )
    .addOption(new Option('--until <time>', 'such as 2026-01-31T18:00:00Z').argParser(timeOf))
    .addHelpText(
      'after',
      '\nExamples:\n  ot extend lab-035 --by 24h\n  ot extend -l course=net-1 --until 2026-01-31T18:00:00Z',
    )
    .action((names: string[], { by, until, ...flags }: ExtendFlags) =>
      line.connected(async (client) => {
        if (by === undefined && until === undefined)
          throw new CommandError('usage', 'say how long (--by 24h), or until when (--until 2026-01-31T18:00:00Z)')
        await confirmAll(line, 'extend', flags)
        const end = { ...(by !== undefined && { byMs: by }), ...(until !== undefined && { untilMs: until }) }
        return await extendLabs({ ...line, client }, { ...choiceOf(names, flags), ...end, output: flags.output })
      }),
    )
}
