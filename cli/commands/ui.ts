import { InvalidArgumentError, Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { operatorNamespaceOption, untilInterrupted } from '../options.ts'
import { showUi } from '../ui/show-ui.ts'

interface UiFlags {
  readonly port: number
  readonly operatorNamespace: string
}

export const defineUi: CommandDefinition = (command, surroundings) => {
  command
    .addOption(new Option('--port <number>', 'port on 127.0.0.1').argParser(portOf).default(0, 'any that is free'))
    .addOption(operatorNamespaceOption())
    .addHelpText('after', '\nExamples:\n  ot ui\n  ot ui --context staging --port 8300')
    .action((flags: UiFlags) =>
      surroundings.connected((client, { cluster }) =>
        showUi({ ...surroundings, client }, { ...flags, cluster }, untilInterrupted(surroundings)),
      ),
    )
}

function portOf(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('write a number from 0 to 65535')
  return port
}
