import { execFile, spawn } from 'node:child_process'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BinaryName } from './binary-name.ts'
import { Watchdog } from './watchdog.ts'

const PROGRESS_EVERY_MS = 10_000
const OUTPUT_TAIL_CHARACTERS = 4_000

const PACKAGES: Readonly<Record<BinaryName, string>> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
}

export interface BuildOptions {
  readonly names: readonly BinaryName[]
  /** Folder of go.mod. */
  readonly source: string
  /** Folder that gets the binaries. */
  readonly target: string
  /** What the Kubernetes servers report as their version. */
  readonly version: string
  readonly report: (line: string) => void
}

/** The version of the Go on PATH, such as `go1.26.0`, or undefined without one. */
export function findGo(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('go', ['env', 'GOVERSION'], (error, stdout) => resolve(error === null ? stdout.trim() : undefined))
  })
}

/** Builds one after another (each uses all cores by itself) and renames each into place when it is whole. */
export async function buildBinaries(options: BuildOptions): Promise<void> {
  const { names, report } = options
  report(`building ${names.join(', ')} from source: about 5 minutes on 2 cores, this once (kept in ${options.target})`)
  await mkdir(options.target, { recursive: true })
  for (const [index, name] of names.entries()) {
    const step = `[${index + 1}/${names.length}] ${name}`
    const started = performance.now()
    const seconds = () => Math.round((performance.now() - started) / 1_000)
    report(`${step}: downloading modules and compiling`)
    const progress = setInterval(() => report(`${step}: ${seconds()} s`), PROGRESS_EVERY_MS)
    try {
      await buildOne(name, options)
    } finally {
      clearInterval(progress)
    }
    report(`${step}: built in ${seconds()} s`)
  }
}

async function buildOne(name: BinaryName, { source, target, version }: BuildOptions): Promise<void> {
  const file = join(target, name)
  const draft = `${file}.${process.pid}.tmp`
  try {
    await runGo(
      ['build', '-mod=readonly', '-trimpath', '-ldflags', linkerFlags(version), '-o', draft, PACKAGES[name]],
      source,
    )
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Without these the API server calls itself v0.0.0-master, and clients refuse to compare versions with it. */
function linkerFlags(version: string): string {
  const [major, minor] = version.slice(1).split('.')
  const values = {
    gitVersion: version,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: 'clean',
    gitCommit: 'unknown',
    buildDate: '1970-01-01T00:00:00Z',
  }
  const settings = Object.entries(values).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`)
  return ['-s', '-w', ...settings].join(' ')
}

function runGo(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const child = spawn('go', args, {
      cwd,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that the compilers that it starts can be ended with it.
      detached: true,
    })
    const watchdog = new Watchdog()
    if (child.pid !== undefined) watchdog.watch(-child.pid)
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_TAIL_CHARACTERS)
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
