import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CloudInitData } from '@open-terrain/constructs/operator'
import type { CloudInit } from './package.ts'

/** cloud-init's verdict on the data of one machine. */
export interface Verdict {
  readonly problems: readonly string[]
  /** As cloud-init reads them. */
  readonly config: unknown
  readonly network: unknown
  /** The users that it would make, by login. */
  readonly logins: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null
}

/** The data of a guest, and the image that it is tested in. */
export interface FirstStart {
  readonly userdata: string
  /** A key of `IMAGES` in images.py. */
  readonly image: string
}

/** Who can log in after the first start. */
export interface Guest {
  /** Why cloud-init gave up. */
  readonly error: string | null
  readonly users: Readonly<
    Record<
      string,
      {
        readonly shell: string
        readonly groups: readonly string[]
        /** Null if none can be used. */
        readonly password: string | null
        readonly keys: readonly string[]
      }
    >
  >
}

/** What cloud-init makes of user data in the guest. */
export interface Merged {
  readonly config: Readonly<Record<string, unknown>>
  /** The scripts that it would run, by name. */
  readonly scripts: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  /** The host name that the guest would get, by distribution. */
  readonly hostnames: Readonly<Record<string, string>>
  /** The boothooks that it would run. */
  readonly hooks: readonly string[]
}

export function merged(cloudInit: CloudInit, texts: readonly string[]): Promise<Merged[]> {
  return ask(
    cloudInit,
    'merge.py',
    texts.map((userdata) => ({ userdata })),
  )
}

/** The archive that cloud-init's make-mime writes. */
export async function madeMime(
  cloudInit: CloudInit,
  parts: readonly (readonly [type: string, text: string])[],
): Promise<string> {
  const [archive = ''] = await ask<string>(cloudInit, 'merge.py', [{ make: parts }])
  return archive
}

export function judge(cloudInit: CloudInit, documents: readonly CloudInitData[]): Promise<Verdict[]> {
  return ask(cloudInit, 'check.py', documents)
}

export function firstStarts(cloudInit: CloudInit, documents: readonly FirstStart[]): Promise<Guest[]> {
  return ask(cloudInit, 'guest.py', documents)
}

/** The values of YAML texts, as PyYAML reads them. */
export function readYaml(cloudInit: CloudInit, texts: readonly string[]): Promise<unknown[]> {
  return ask(cloudInit, 'read_yaml.py', texts)
}

/** Checks all documents in one process, because starting it takes longer than a few hundred checks. */
async function ask<Answer>(
  { python, env }: CloudInit,
  script: string,
  documents: readonly (object | string)[],
): Promise<Answer[]> {
  const child = spawn(python, [join(import.meta.dirname, script)], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  child.stdin.end(JSON.stringify(documents))
  const [answer, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${errors}`)
  return JSON.parse(answer) as Answer[]
}
