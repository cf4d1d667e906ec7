import { ScriptedClient } from '../operator/kube/scripted-client.fixtures.ts'
import { runOt } from './program.ts'
import type { Surroundings } from './surroundings.ts'

/** Runs command lines of `ot` against an API server in memory, or without one. */
export class OtBench {
  readonly client = new ScriptedClient()
  /** What `-f` and `-` read, by path. */
  readonly files = new Map<string, string>()
  /** Files that were written, by path. */
  readonly written = new Map<string, Uint8Array>()
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
      connect: async () => ({ client: this.client, close: async () => undefined }),
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
