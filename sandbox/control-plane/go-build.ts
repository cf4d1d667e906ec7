import { execFile, spawn } from 'node:child_process'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tailOf } from './output-tail.ts'
import { Watchdog } from './watchdog.ts'

const PROGRESS_EVERY_MS = 10_000

export interface GoBuild {
  /** Prefix of each progress line. */
  readonly title: string
  /** Folder of the go.mod that pins all modules. */
  readonly source: string
  /** Import path of the command. */
  readonly package: string
  readonly linkerFlags: string
  readonly tags?: readonly string[]
  /** Path of the binary. The file appears only when it is complete. */
  readonly file: string
  readonly report: (line: string) => void
}

/** Returns the version of Go on PATH, such as `go1.26.0`, or undefined if there is none. */
export function findGo(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('go', ['env', 'GOVERSION'], (error, stdout) => resolve(error === null ? stdout.trim() : undefined))
  })
}

/** Builds a command from its Go module and reports progress. Throws an error with the end of the compiler's output. */
export async function buildGoCommand({ title, report, ...build }: GoBuild): Promise<void> {
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 1_000)
  report(`${title}: downloading modules and compiling`)
  const progress = setInterval(() => report(`${title}: ${seconds()} s`), PROGRESS_EVERY_MS)
  const draft = `${build.file}.${process.pid}.tmp`
  try {
    await mkdir(dirname(build.file), { recursive: true })
    const flags = ['-mod=readonly', '-trimpath', '-tags', (build.tags ?? []).join(','), '-ldflags', build.linkerFlags]
    await runGo(['build', ...flags, '-o', draft, build.package], build.source)
    await rename(draft, build.file)
  } finally {
    clearInterval(progress)
    await rm(draft, { force: true })
  }
  report(`${title}: built in ${seconds()} s`)
}

function runGo(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const child = spawn('go', args, {
      cwd,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that the compilers it starts can be killed with it.
      detached: true,
    })
    const watchdog = new Watchdog()
    if (child.pid !== undefined) watchdog.watch(-child.pid)
    const keep = (chunk: Buffer) => {
      output = tailOf(output + chunk.toString())
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (child.pid !== undefined) watchdog.forget(-child.pid)
      void watchdog.close()
      if (code === 0) resolve()
      else reject(new Error(`go ${args.at(-1)} ended with ${signal ?? `exit code ${code}`}:\n${output.trim()}`))
    })
  })
}
