import { Option } from 'commander'
import type { CommandDefinition } from '../command-line.ts'
import { DRAWINGS, type Drawing, drawLab, drawManifest } from '../draw-lab.ts'
import { CommandError, EXIT_CODES } from '../exit-codes.ts'

interface DrawFlags {
  readonly filename?: string
  readonly output: Drawing
}

export const defineDraw: CommandDefinition = (command, { connected, print, readText }) => {
  command
    .option(
      '-f, --filename <file>',
      'draw a Workspace of this file of manifests, without a cluster; - is standard input',
    )
    .addOption(new Option('-o, --output <form>', 'how to draw it').choices(DRAWINGS).default('mermaid'))
    .addHelpText('after', '\nExamples:\n  ot draw lab-035 -o svg > lab-035.svg\n  ot draw -f examples/workspace.yaml')
    .action(async (name: string | undefined, { filename, output }: DrawFlags) => {
      if (filename !== undefined) print(await drawManifest(readText, { filename, name, output }))
      else if (name === undefined) throw new CommandError('usage', 'name a lab, or a file of manifests with -f')
      else
        await connected(async (client) => {
          print(await drawLab(client, name, output))
          return EXIT_CODES.done
        })
    })
}
