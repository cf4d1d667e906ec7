import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host } from '../lab-networks/namespaces.ts'

const ENTER = join(import.meta.dirname, 'enter.sh')

export interface SystemProps {
  /** File system that the command finds, see `resolveAnsible`. */
  readonly root: string
  /** Whose network it has. */
  readonly host: Host
  /** Files and folders of this machine, by their path in the system. They are read-only outside of `/dev`. */
  readonly mounts?: Readonly<Record<string, string>>
  /** Whether only `/tmp`, `/run` and `/dev` can be written to. */
  readonly isReadOnly?: boolean
}

/** A command that runs in a system of its own. All that it writes and starts ends with it. */
export class SystemProcess {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #waiting: { readonly text: string; readonly resolve: () => void }[] = []
  /** All that it has printed. */
  log = ''
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number>

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.#folder = folder
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.log += text
        for (const one of this.#waiting) if (this.log.includes(one.text)) one.resolve()
      })
    }
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject).once('close', (code) => resolve(code ?? -1))
    })
  }

  static async start(
    { root, host, mounts = {}, isReadOnly = false }: SystemProps,
    command: readonly string[],
  ): Promise<SystemProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'ot-system-'))
    const bound = Object.entries(mounts).map(([target, source]) => `${source}:${target}`)
    const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', ENTER]
    const args = [...apart, root, folder, isReadOnly ? 'ro' : 'rw', ...bound, '--', ...command]
    const child = spawn('ip', ['netns', 'exec', host.name, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    return new SystemProcess(child, folder)
  }

  /** Resolves when it has printed a text. Throws if it ends before. */
  async says(text: string): Promise<void> {
    const said = new Promise<void>((resolve) => {
      this.#waiting.push({ text, resolve })
    })
    const ended = this.ended.then((code) => {
      if (!this.log.includes(text)) throw new Error(`it ended with ${code}, without "${text}":\n${this.log}`)
    })
    if (!this.log.includes(text)) await Promise.race([said, ended])
  }

  async remove(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
    await rm(this.#folder, { recursive: true, force: true })
  }
}
