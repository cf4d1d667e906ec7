import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** Returns the options of the command that runs. With `--help`, prints its usage and ends. */
export function commandOptions<const Options extends ParseArgsOptionsConfig>(usage: string, options: Options) {
  const help = { type: 'boolean', short: 'h' } as const
  const values: { readonly help?: unknown } = parseArgs({ options: { ...options, help } }).values
  if (values.help === true) {
    process.stdout.write(usage)
    process.exit()
  }
  return values as ReturnType<typeof parseArgs<{ options: Options }>>['values']
}
