import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolderOf } from '../../../sandbox/cache-folder.ts'
import { holdLock } from '../../../sandbox/control-plane/directory-lock.ts'
import { buildGoCommand, findGo } from '../../../sandbox/control-plane/go-build.ts'

export interface PulumiCli {
  /** Such as `v3.246.0`. */
  readonly version: string
  /** The folder whose `bin/` has the CLI. Absent for the CLI on the PATH. */
  readonly root?: string
  /** Folder of the language host for Node. Absent if the CLI has its own beside it. */
  readonly languageHost?: string
}

interface Command {
  readonly name: string
  /** Folder of the go.mod that pins it. */
  readonly source: string
  /** The Go module whose version is that of the command. */
  readonly module: string
  /** Import path. */
  readonly package: string
  /** How long the build takes. */
  readonly takes: string
}

const CLI: Command = {
  name: 'pulumi',
  source: import.meta.dirname,
  module: 'github.com/pulumi/pulumi/pkg/v3',
  package: 'github.com/pulumi/pulumi/pkg/v3/cmd/pulumi',
  takes: 'about 6 minutes on 2 cores',
}

/** An old version: later ones are in a separate module, which has no releases. It runs current programs, but no policy packs. */
const LANGUAGE_HOST: Command = {
  name: 'pulumi-language-nodejs',
  source: join(import.meta.dirname, '../language-host'),
  module: 'github.com/pulumi/pulumi/sdk/v3',
  package: 'github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs',
  takes: 'about half a minute',
}

type Environment = Readonly<Record<string, string | undefined>>
type Report = (line: string) => void

/**
 * Returns the Pulumi CLI with a language host for Node: the CLI on the PATH, or both from our cache, or from builds of the Go modules that
 * the `go.mod` files pin. If none works, throws an error that says what to install.
 */
export async function resolvePulumi(
  report: Report = (line) => process.stderr.write(`${line}\n`),
  env: Environment = process.env,
): Promise<PulumiCli> {
  const installed = await installedVersion(env)
  if (installed !== undefined) return { version: installed }
  const cli = await built(CLI, report, env)
  const host = await built(LANGUAGE_HOST, report, env)
  return { version: cli.version, root: cli.root, languageHost: join(host.root, 'bin') }
}

/** Returns the command as `bin/<name>` below `root`. */
async function built(command: Command, report: Report, env: Environment): Promise<{ version: string; root: string }> {
  const { name, source } = command
  const goMod = await readFile(join(source, 'go.mod'), 'utf8')
  const version = versionOf(command, goMod)
  const root = cacheFolder(command, goMod, env)
  const file = join(root, 'bin', name)
  if (await isExecutable(file)) return { version, root }

  const release = await holdLock(`${root}.lock`, () => report(`another process is building ${name}: waiting`))
  try {
    if (await isExecutable(file)) return { version, root }
    if ((await findGo()) === undefined) throw new Error(WHAT_TO_INSTALL)
    report(`building ${name} from source: ${command.takes}, this once (kept in ${root})`)
    await buildGoCommand({
      title: `${name} ${version}`,
      source,
      package: command.package,
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

/** `~/.cache/open-terrain/<name>/<version>-<hash of go.mod>` */
function cacheFolder(command: Command, goMod: string, env: Environment): string {
  const hash = createHash('sha256').update(goMod).digest('hex').slice(0, 12)
  return join(cacheFolderOf(env), command.name, `${versionOf(command, goMod)}-${hash}`)
}

function versionOf({ module, source }: Command, goMod: string): string {
  const lines = goMod.split('\n').map((line) =>
    line
      .trim()
      .replace(/^require /, '')
      .split(' '),
  )
  const version = lines.find(([path]) => path === module)?.[1]
  if (version === undefined) throw new Error(`${join(source, 'go.mod')} does not pin ${module}`)
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
