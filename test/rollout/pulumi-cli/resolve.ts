import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { holdLock } from '../../../sandbox/control-plane/directory-lock.ts'
import { buildGoCommand, findGo } from '../../../sandbox/control-plane/go-build.ts'

const GO_MOD = join(import.meta.dirname, 'go.mod')

export interface PulumiCli {
  /** Such as `v3.246.0`. */
  readonly version: string
  /** Its `bin/` has the CLI; absent for the one on PATH. */
  readonly root?: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The Pulumi CLI: the one on PATH, our cache, or a build from the Go module that `go.mod` pins. Throws one sentence that says what to
 * install when none is possible.
 */
export async function resolvePulumi(
  report: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
  env: Environment = process.env,
): Promise<PulumiCli> {
  const installed = await installedVersion(env)
  if (installed !== undefined) return { version: installed }
  const goMod = await readFile(GO_MOD, 'utf8')
  const version = pulumiVersion(goMod)
  const root = cacheFolder(goMod, env)
  const file = join(root, 'bin', 'pulumi')
  if (await isExecutable(file)) return { version, root }

  const release = await holdLock(`${root}.lock`, () => report('another process is building the Pulumi CLI: waiting'))
  try {
    if (await isExecutable(file)) return { version, root }
    if ((await findGo()) === undefined) throw new Error(WHAT_TO_INSTALL)
    report(`building the Pulumi CLI from source: about 6 minutes on 2 cores, this once (kept in ${root})`)
    await buildGoCommand({
      title: `pulumi ${version}`,
      source: import.meta.dirname,
      package: 'github.com/pulumi/pulumi/pkg/v3/cmd/pulumi',
      // Without it the CLI has no version, and the Automation API refuses it.
      linkerFlags: `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version}`,
      file,
      report,
    })
    return { version, root }
  } finally {
    await release()
  }
}

const WHAT_TO_INSTALL =
  'the Pulumi CLI is missing: install it, so that pulumi is on PATH, or Go 1.26 or newer, with which it is then built from source once.'

/** `~/.cache/open-terrain/pulumi/<version>-<hash of go.mod>` */
function cacheFolder(goMod: string, env: Environment): string {
  const base = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const hash = createHash('sha256').update(goMod).digest('hex').slice(0, 12)
  return join(base, 'open-terrain', 'pulumi', `${pulumiVersion(goMod)}-${hash}`)
}

function pulumiVersion(goMod: string): string {
  const version = /^\s*(?:require )?github\.com\/pulumi\/pulumi\/pkg\/v3 (v\S+)/m.exec(goMod)?.[1]
  if (version === undefined)
    throw new Error('test/rollout/pulumi-cli/go.mod does not pin github.com/pulumi/pulumi/pkg/v3')
  return version
}

function installedVersion(env: Environment): Promise<string | undefined> {
  const options = { env: { ...env, PULUMI_SKIP_UPDATE_CHECK: '1' }, timeout: 30_000 }
  return new Promise((resolve) => {
    execFile('pulumi', ['version'], options, (error, stdout) => resolve(error === null ? stdout.trim() : undefined))
  })
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
