import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CloudInitData } from '@open-terrain/constructs'
import type { CloudInit } from './package.ts'

/** What cloud-init says of one machine's data. */
export interface Verdict {
  readonly problems: readonly string[]
  /** As it reads them. */
  readonly config: unknown
  readonly network: unknown
  /** The users that it would make, by login. */
  readonly logins: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null
}

/** All in one process: starting it takes longer than a few hundred checks. */
export async function judge({ python, env }: CloudInit, documents: readonly CloudInitData[]): Promise<Verdict[]> {
  const child = spawn(python, [join(import.meta.dirname, 'check.py')], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  child.stdin.end(JSON.stringify(documents))
  const [answer, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  if (code !== 0) throw new Error(`check.py ended with ${code}: ${errors}`)
  return JSON.parse(answer) as Verdict[]
}
