import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { resolveDebianTool } from '../../sandbox/debian-packages.ts'

const run = promisify(execFile)

/** Paths of the programs, or their names where they are on the PATH. */
export interface Prometheus {
  readonly promtool: string
  readonly prometheus: string
}

/**
 * Finds or installs Prometheus: from the folder in `PROMETHEUS`, the PATH, our cache, or the distribution's package. Undefined with
 * `PROMETHEUS=skip`. If none works, throws an error that says what to do.
 */
export async function resolvePrometheus(report: (line: string) => void): Promise<Prometheus | undefined> {
  if (process.env['PROMETHEUS'] === 'skip') return undefined
  const packages = () => Promise.resolve(['prometheus'])
  const remedy =
    'put prometheus and promtool on the PATH, or set PROMETHEUS=skip to leave out the checks that need them.'
  return await resolveDebianTool({ name: 'prometheus', packages, kept: 'usr/bin', findIn, remedy }, report)
}

async function findIn(cache: string): Promise<Prometheus | undefined> {
  const named = process.env['PROMETHEUS']
  const pathOf = (folder: string | undefined, name: string) => (folder === undefined ? name : join(folder, name))
  for (const folder of named ? [named] : [undefined, cache]) {
    const [promtool, prometheus] = [pathOf(folder, 'promtool'), pathOf(folder, 'prometheus')]
    const answers = await Promise.allSettled([promtool, prometheus].map((path) => run(path, ['--version'])))
    if (answers.every(({ status }) => status === 'fulfilled')) return { promtool, prometheus }
  }
  return undefined
}
