import { runOt } from '../../../cli/program.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'

/** Runs commands against an API server in memory, and keeps what they print. */
export class OtRunner {
  readonly client = new ScriptedClient()
  printed = ''
  told = ''
  /** Set: standard output is a terminal of this size. */
  screen: { readonly columns: number; readonly rows: number } | undefined
  /** Standard output is a terminal that shows colours. */
  hasColors = false
  #interrupted = new AbortController()

  /** Returns how the command ends. */
  async run(...argv: string[]): Promise<number> {
    const { client, screen, hasColors } = this
    this.#interrupted = new AbortController()
    return await runOt(argv, {
      clock: client.clock,
      readText: async (path) => {
        throw new Error(`there is no ${path}`)
      },
      connect: async () => ({ client, close: async () => undefined }),
      print: (text) => {
        this.printed += text
      },
      tell: (text) => {
        this.told += text
      },
      ask: undefined,
      hasColors,
      writeNew: async (path) => {
        throw new Error(`${path} is not to be written`)
      },
      ...(screen !== undefined && { screen: () => screen }),
      interrupted: () => this.#interrupted.signal,
    })
  }

  /** Somebody presses Ctrl-C. */
  interrupt(): void {
    this.#interrupted.abort()
  }
}
