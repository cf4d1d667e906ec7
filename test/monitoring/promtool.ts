import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { Prometheus } from './prometheus.ts'
import type { RuleGroups } from './rendered.ts'

const run = promisify(execFile)

/** Runs promtool in a folder with these files. Throws with its output if it fails. */
export async function promtool(
  { promtool: path }: Prometheus,
  args: readonly string[],
  files: Readonly<Record<string, unknown>>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'open-terrain-promtool-'))
  try {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), stringify(content))
    const { stdout } = await run(path, args, { cwd: folder })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`promtool ${args.join(' ')} fails:\n${stdout}${stderr}`, { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Unit tests of promtool, and the only rules that it evaluates for them. */
export interface RuleTests {
  readonly rules: RuleGroups
  readonly tests: readonly object[]
}

/**
 * Runs unit tests of promtool in one process: its start, and rules that no test asks about, take longer than most tests. Throws with its
 * output if one of them fails.
 */
export async function testRules(prometheus: Prometheus, ...all: readonly RuleTests[]): Promise<void> {
  const files = all.flatMap(({ rules, tests }, at) => [
    [`rules-${at}.yaml`, rules] as const,
    [`tests-${at}.yaml`, { rule_files: [`rules-${at}.yaml`], evaluation_interval: '1m', tests }] as const,
  ])
  await promtool(prometheus, ['test', 'rules', ...all.map((_, at) => `tests-${at}.yaml`)], Object.fromEntries(files))
}
