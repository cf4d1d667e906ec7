import type { Command } from 'commander'
import { type AskVerb, askAgain } from '../ask-again.ts'
import type { CommandDefinition } from '../command-line.ts'
import { confirm } from '../confirm.ts'
import {
  addNamespace,
  addResults,
  addWait,
  chosenNamespace,
  type NamespaceFlags,
  type SelectionFlags,
  type WaitFlags,
  waitOf,
} from '../options.ts'

type AskFlags = SelectionFlags & NamespaceFlags & Partial<WaitFlags>

export const defineRetry: CommandDefinition = definitionOf('retry', [
  'vmdi/kali -n vmdi-farm --wait',
  'dsync/net-1 -n vmdi-farm',
  'otws/lab-035',
])
export const defineRefresh: CommandDefinition = definitionOf('refresh', [
  'vmdi/kali -n vmdi-farm --wait',
  'vmdi -l course=net-1 -n vmdi-farm',
])
export const defineSuspend: CommandDefinition = definitionOf('suspend', ['vmdi/kali -n vmdi-farm'])
export const defineResume: CommandDefinition = definitionOf('resume', ['vmdi/kali -n vmdi-farm', 'vmdi --all -A'])

function definitionOf(name: AskVerb, examples: readonly string[]): CommandDefinition {
  return (command, line) => {
    addNamespace(command)
      .option('-l, --selector <labels>', 'objects of the kind with these labels: course=net-1')
      .option('--all', 'all objects of the kind')
      .option('-y, --yes', 'do not ask')
    addResults(withWait(command, name))
      .addHelpText('after', `\nExamples:\n${examples.map((one) => `  ot ${name} ${one}`).join('\n')}`)
      .action((words: string[], flags: AskFlags) =>
        line.connected(async (client, context) => {
          const { all, yes, selector, output, timeout = 0, wait = false } = flags
          if (all === true && yes !== true) await confirm(line, `${name} all objects of the kind?`)
          const choice = { words, ...(selector !== undefined && { selector }), ...(all && { all }) }
          const where = { namespace: chosenNamespace(flags, context) }
          return await askAgain({ ...line, client }, name, {
            ...choice,
            ...where,
            output,
            ...waitOf({ wait, timeout }),
          })
        }),
      )
  }
}

function withWait(command: Command, name: AskVerb): Command {
  return name === 'retry' || name === 'refresh' ? addWait(command, 'wait until each object has settled') : command
}
