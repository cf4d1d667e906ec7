import { gzipSync } from 'node:zlib'
import { OPERATOR_NAMESPACE } from '@open-terrain/constructs/operator'
import { Option } from 'commander'
import { toShortTime } from '../../operator/base/time.ts'
import { bundleManifest, collectBundle } from '../bundle/collect.ts'
import { tarOf } from '../bundle/tar.ts'
import type { CommandDefinition } from '../command-line.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { shown } from '../table.ts'

interface BundleFlags {
  readonly output?: string
  readonly operatorNamespace: string
}

export const defineBundle: CommandDefinition = (command, line) => {
  command
    .option('-o, --output <file>', 'where to write it; default: open-terrain-TIME.tar.gz; never over another file')
    .addOption(
      new Option('--operator-namespace <name>', 'where the operator is')
        .env('OPERATOR_NAMESPACE')
        .default(OPERATOR_NAMESPACE),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  ot bundle\n  ot bundle -o report.tar.gz && tar -tzf report.tar.gz\n  tar -xzOf report.tar.gz manifest.json',
    )
    .action(({ output, operatorNamespace }: BundleFlags) =>
      line.connected(async (client, { readPath }) => {
        const at = toShortTime(line.clock.now())
        const collected = await collectBundle({ client, readPath, operatorNamespace })
        const files = new Map([['manifest.json', bundleManifest(collected, at)], ...collected.files])
        const path = output ?? `open-terrain-${at.replaceAll(':', '')}.tar.gz`
        await line.writeNew(path, gzipSync(tarOf(files)))
        for (const { what, why } of collected.unread) line.tell(`not in it: ${shown(`${what}: ${why}`)}\n`)
        line.print(`${path}\n`)
        return EXIT_CODES.done
      }),
    )
}
