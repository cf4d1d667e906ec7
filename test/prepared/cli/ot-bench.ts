import { runOt } from '../../../cli/program.ts'
import type { ClusterChoice, Surroundings } from '../../../cli/surroundings.ts'
import { apiError } from '../kube/api-error.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'

/** Runs command lines of `ot` against an API server in memory, or without one. */
export class OtBench {
  readonly client = new ScriptedClient()
  /** What `-f` and `-` read, by path. */
  readonly files = new Map<string, string>()
  /** Files that were written, by path. */
  readonly written = new Map<string, Uint8Array>()
  /** What the API server answers, by path without its query. */
  readonly answers = new Map<string, string>()
  /** The cluster that was connected to last. */
  cluster: ClusterChoice | undefined
  printed = ''
  told = ''

  /** Returns how the command line ends, and forgets what earlier ones have said. */
  async ot(...argv: readonly string[]): Promise<number> {
    this.printed = ''
    this.told = ''
    return await runOt(argv, this.#surroundings())
  }

  #surroundings(): Surroundings {
    return {
      clock: this.client.clock,
      readText: async (path) => {
        const found = this.files.get(path)
        if (found === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`)
        return found
      },
      writeNew: async (path, content) => {
        if (this.written.has(path)) throw new Error(`EEXIST: file already exists, open '${path}'`)
        this.written.set(path, content)
      },
      connect: async (where) => {
        this.cluster = where
        return {
          client: this.client,
          readPath: async (path) => {
            const found = this.answers.get(path.split('?')[0] ?? '')
            if (found === undefined) throw apiError('Rejected', { message: `you may not get ${path}` })
            return found
          },
          close: async () => undefined,
        }
      },
      print: (text) => {
        this.printed += text
      },
      tell: (text) => {
        this.told += text
      },
      ask: undefined,
    }
  }
}
