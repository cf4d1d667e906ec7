import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SourceStats } from './source-server.ts'

const PORT = 8080

export interface SourceOptions {
  readonly folder: string
  /** Address on which importers reach it. */
  readonly host: string
  /** Path of the socket on which this process reaches it. */
  readonly socket: string
  /** Command that runs it in another network namespace. */
  readonly within?: readonly string[]
}

/** A web server that importers reach. It serves the files of a folder. */
export class Sources {
  /** Where importers reach it, without a slash at the end. */
  readonly url: string
  readonly #socket: string
  readonly #child: ChildProcess

  private constructor(url: string, socket: string, child: ChildProcess) {
    this.url = url
    this.#socket = socket
    this.#child = child
  }

  static async start(options: SourceOptions): Promise<Sources> {
    const { folder, host, socket, within = [] } = options
    const server = join(import.meta.dirname, 'source-server.ts')
    const command = [...within, process.execPath, server, folder, host, String(PORT), socket]
    const child = spawn(command[0] as string, command.slice(1), { stdio: ['pipe', 'ignore', 'inherit'] })
    const sources = new Sources(`http://${host}:${PORT}`, socket, child)
    for (let attempt = 0; attempt < 200; attempt += 1) {
      if (await sources.requests().catch(() => undefined)) return sources
      await sleep(50)
    }
    child.kill()
    throw new Error('the web server for images did not start')
  }

  /** All requests so far, in their order. */
  requests(): Promise<readonly SourceStats[]> {
    return new Promise((resolve, reject) => {
      const asked = request({ socketPath: this.#socket, path: '/__stats' }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve(JSON.parse(text)))
      })
      asked.on('error', reject)
      asked.end()
    })
  }

  stop(): void {
    this.#child.stdin?.end()
  }
}
