import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const SERVER = join(import.meta.dirname, 'registry-server.ts')

export interface RegistryOptions {
  /** Folder of the layout. */
  readonly folder: string
  /** Address and port on which nodes reach it. */
  readonly host: string
  readonly port: number
  /** Command that runs it in another network namespace. */
  readonly within?: readonly string[]
}

/** A registry in a process of its own, which ends with this one. */
export class RegistryProcess {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start({ folder, host, port, within = [] }: RegistryOptions): Promise<RegistryProcess> {
    const [command = '', ...args] = [...within, process.execPath, SERVER, folder, host, String(port)]
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the registry at ${host}:${port} has ended`)))
    ended.catch(() => undefined)
    await Promise.race([once(child.stdout, 'data'), ended])
    return new RegistryProcess(child)
  }

  stop(): void {
    this.#child.stdin?.end()
  }
}
