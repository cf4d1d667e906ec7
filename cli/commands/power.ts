import type { PowerState } from '@open-terrain/constructs/operator'
import type { CommandDefinition } from '../command-line.ts'
import { addSelection, addWait, choiceOf, confirmAll, type SelectionFlags, type WaitFlags, waitOf } from '../options.ts'
import { switchLabs } from '../switch-labs.ts'

export const defineStop: CommandDefinition = definitionOf('stop', 'Halted')
export const defineStart: CommandDefinition = definitionOf('start', 'Running')

function definitionOf(name: 'start' | 'stop', powerState: PowerState): CommandDefinition {
  return (command, line) => {
    addWait(addSelection(command), `wait until each lab is ${powerState === 'Halted' ? 'off' : 'Ready'}`)
      .addHelpText('after', `\nExamples:\n  ot ${name} lab-035\n  ot ${name} -l course=net-1 --wait`)
      .action((names: string[], flags: SelectionFlags & WaitFlags) =>
        line.connected(async (client) => {
          await confirmAll(line, name, flags)
          const how = { ...choiceOf(names, flags), ...waitOf(flags), output: flags.output }
          return await switchLabs({ ...line, client }, powerState, how)
        }),
      )
  }
}
