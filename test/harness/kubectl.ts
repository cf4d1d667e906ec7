import { spawnSync } from 'node:child_process'

export const HAS_KUBECTL = isThere('kubectl', ['version', '--client'])

/** If a tool is missing, a note says so, because skipped tests look like passed ones. In CI that is an error. */
export function isThere(tool: string, args: readonly string[]): boolean {
  if (spawnSync(tool, args).status === 0) return true
  const note = `${tool} is not on PATH: what needs it is not tried`
  if (process.env['CI'] !== undefined) throw new Error(note)
  process.stderr.write(`${note}\n`)
  return false
}
