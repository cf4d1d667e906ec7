import { runOt } from '../../cli/program.ts'
import { systemClock } from '../../operator/base/clock.ts'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'

export interface OtAnswer {
  readonly code: number
  readonly printed: string
  readonly told: string
}

/**
 * Runs `ot` in this process, with the rights of a client: a process for each command would take most of the time of a test.
 * @param files what it may read, by path
 */
export async function otHere(
  client: HttpKubeClient,
  argv: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<OtAnswer> {
  let [printed, told] = ['', '']
  const code = await runOt(argv, {
    clock: systemClock,
    readText: async (path) => files[path] ?? '',
    writeNew: async (path) => {
      throw new Error(`${path} is written`)
    },
    connect: async () => ({ client, readPath: (path) => client.readPath(path), close: async () => undefined }),
    print: (text) => {
      printed += text
    },
    tell: (text) => {
      told += text
    },
    ask: undefined,
  })
  return { code, printed, told }
}
