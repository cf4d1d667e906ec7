import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A network namespace, in which the tools of this machine run. */
export class Place {
  readonly name: string
  /** Command that runs what follows it in the namespace. */
  readonly #enter: readonly string[]
  readonly #servers: AbortController[] = []

  constructor(name: string, enter: readonly string[]) {
    this.name = name
    this.#enter = enter
  }

  /** Runs commands, one a line. Throws if one fails. */
  async run(commands: string): Promise<void> {
    for (const line of commands
      .split('\n')
      .map((one) => one.trim())
      .filter((one) => one !== ''))
      await this.exec(line.split(/\s+/))
  }

  async exec(command: readonly string[], input?: string): Promise<string> {
    const [file = '', ...args] = [...this.#enter, ...command]
    const child = run(file, args)
    if (input !== undefined) child.child.stdin?.end(input)
    return (await child).stdout
  }

  /** Answers on a TCP port of every address with a word, until it is removed. */
  async serve(port: number, word: string): Promise<void> {
    const stop = new AbortController()
    this.#servers.push(stop)
    const program = `require('node:net').createServer((one) => one.end(${JSON.stringify(word)})).listen(${port}, '::', () => console.log('up'))`
    const [file = '', ...args] = [...this.#enter, process.execPath, '-e', program]
    const child = execFile(file, args, { signal: stop.signal })
    child.on('error', () => undefined)
    await new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`the server of ${this.name} ended with ${code}`)))
    })
  }

  /** Returns what a TCP port answers to a request for a page, or `nothing`. */
  async ask(address: string, port: number): Promise<string> {
    const program = `const one = require('node:net').connect(${port}, ${JSON.stringify(address)})
      let text = ''
      setTimeout(() => one.destroy(new Error('late')), ${PATIENCE_MS})
      one.on('data', (data) => { text += data }).on('error', () => undefined)
      one.on('close', () => { console.log(text.split('\\r\\n\\r\\n').at(-1)); process.exit(0) })
      one.write('GET / HTTP/1.0\\r\\n\\r\\n')`
    return (await this.exec([process.execPath, '-e', program])).trim() || 'nothing'
  }

  /** Returns the MAC that answers ARP requests for an address, or `nothing`. */
  async resolve(address: string, device: string): Promise<string> {
    await this.ask(address, 9)
    const known = await this.exec(['ip', 'neigh', 'show', address, 'dev', device])
    return /lladdr (\S+)/.exec(known)?.[1] ?? 'nothing'
  }

  async macOf(device: string): Promise<string> {
    return /link\/ether (\S+)/.exec(await this.exec(['ip', 'link', 'show', device]))?.[1] ?? ''
  }

  /** Resolves once the device has the address, and may use it: the kernel asks first whether somebody else has it. Throws if it never has one. */
  async linkLocalOf(device: string): Promise<string> {
    for (let looks = 0; looks < 100; looks += 1) {
      const shown = await this.exec(['ip', '-6', 'addr', 'show', 'dev', device, 'scope', 'link', '-tentative'])
      const found = /inet6 (fe80:\S+)\//.exec(shown)?.[1]
      if (found !== undefined) return found
      await sleep(100)
    }
    throw new Error(`${device} of ${this.name} has no link-local address`)
  }

  /** Ends its servers. */
  async remove(): Promise<void> {
    for (const stop of this.#servers) stop.abort()
  }
}

/** A neighbour on the same machine that is going to answer has answered by then. */
const PATIENCE_MS = 4_000
