import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Ends when its input does. All that was started inside then dies with it, and mounts, links and packet rules are gone. */
const HOLD = 'echo held; read -r _'

/**
 * Namespaces of its own for processes, mounts and the network. They are gone when this process is gone, however it ends, because
 * the first process inside reads from a pipe that nobody else holds.
 */
export class Enclave {
  /** Of the first process inside, as this process sees it. */
  readonly pid: number
  readonly #outer: ChildProcess

  private constructor(outer: ChildProcess, pid: number) {
    this.#outer = outer
    this.pid = pid
  }

  /** @param within starts it inside of another one, with which it ends too */
  static async start(within?: Enclave): Promise<Enclave> {
    const unshare = ['--mount', '--net', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc']
    const [command, ...args] = [
      ...(within === undefined ? [] : within.#enter()),
      ...['unshare', ...unshare, '--propagation', 'private', '/bin/sh', '-c', HOLD],
    ]
    const outer = spawn(command as string, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    let complaint = ''
    outer.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = text
    })
    const held = once(outer.stdout, 'data')
    const ended = once(outer, 'exit').then(() => Promise.reject(new Error(`cannot make namespaces: ${complaint}`)))
    await Promise.race([held, ended])
    ended.catch(() => undefined)
    for (const stream of [outer, outer.stdin, outer.stdout, outer.stderr]) (stream as { unref?: () => void }).unref?.()
    const depth = within === undefined ? 1 : 2
    return new Enclave(outer, await descendant(outer.pid as number, depth))
  }

  /** Runs a shell script inside. Throws an error with its output if it fails. */
  async script(text: string): Promise<string> {
    const [command, ...args] = [...this.#enter(), '/bin/sh', '-euc', text]
    const { stdout } = await run(command as string, args, { maxBuffer: 64 * 1024 * 1024 })
    return stdout
  }

  /** Starts a process inside. Its output is appended to a file. */
  start(command: readonly string[], logFile: string, options: SpawnOptions = {}): Inmate {
    const log = openSync(logFile, 'a')
    try {
      return this.spawn(command, { stdio: ['ignore', log, log], ...options })
    } finally {
      closeSync(log)
    }
  }

  spawn(command: readonly string[], options: SpawnOptions): Inmate {
    const [nsenter, ...args] = [...this.#enter(), ...command]
    return new Inmate(spawn(nsenter as string, args, { detached: true, ...options }))
  }

  /** Joins its network to a bridge of the one that it is in. */
  async connect(within: Enclave, bridge: string, link: string, address: string): Promise<void> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8')
    // The last two are the IDs inside of it, and inside of the one around it.
    const [pid] = /^NSpid:.*?\s(\d+)\s+\d+$/m.exec(status)?.slice(1) ?? []
    await within.script(
      `ip link add ${link} type veth peer name eth0 netns ${pid}; ip link set ${link} master ${bridge} up`,
    )
    await this.script(`ip link set lo up; ip address add ${address} dev eth0; ip link set eth0 up`)
  }

  /** The command that runs what follows it in the network of this one, but sees the files and processes of this machine. */
  networkCommand(): readonly string[] {
    return ['nsenter', '--target', String(this.pid), '--net', '--']
  }

  async stop(): Promise<void> {
    if (this.#outer.exitCode !== null || this.#outer.signalCode !== null) return
    const ended = once(this.#outer, 'exit')
    process.kill(this.pid, 'SIGKILL')
    await ended
  }

  #enter(): readonly string[] {
    return ['nsenter', '--target', String(this.pid), '--mount', '--net', '--pid', '--']
  }
}

/** A process inside of an enclave. */
export class Inmate {
  readonly child: ChildProcess
  readonly ended: Promise<void>

  constructor(child: ChildProcess) {
    this.child = child
    this.ended = new Promise((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    child.unref()
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** Sends a signal to the process itself: nsenter, its parent, does not pass it on. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return
    process.kill(await descendant(this.child.pid as number, 1), signal)
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.signal(signal).catch(() => undefined)
    this.child.ref()
    await this.ended
  }
}

async function descendant(pid: number, generations: number): Promise<number> {
  let found = pid
  for (let generation = 0; generation < generations; generation += 1) {
    const children = (await readFile(`/proc/${found}/task/${found}/children`, 'utf8')).trim().split(' ')
    if (!children[0]) throw new Error(`process ${found} has no child`)
    found = Number(children[0])
  }
  return found
}
