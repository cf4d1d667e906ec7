import type { Clock } from '../operator/base/clock.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'

/** Everything that a command has to do with. Tests bring their own. */
export interface Surroundings {
  /** Connects with what the caller's kubeconfig says. Rejects with an Error of one sentence if it cannot. */
  readonly connect: (where: ClusterChoice) => Promise<Connected>
  readonly clock: Clock
  /** Returns the text of a file; of standard input, if its path is `-`. Throws an Error if it cannot be read. */
  readonly readText: (path: string) => Promise<string>
  /** Writes a file that nobody else may read. Rejects with an Error if there is one of that name, or it cannot be written. */
  readonly writeNew: (path: string, content: Uint8Array) => Promise<void>
  /** Standard output: what was asked for. */
  readonly print: (text: string) => void
  /** Standard error: progress, and what went wrong. */
  readonly tell: (text: string) => void
  /** Returns the size of the terminal that standard output is. Undefined: it is none. */
  readonly screen?: (() => { readonly columns: number; readonly rows: number }) | undefined
  /** States may be printed in colours: standard output is a terminal of somebody who has not asked for none. */
  readonly hasColors?: boolean
  /** Returns a signal that is aborted when somebody presses Ctrl-C, or nobody reads standard output any more. From then on Ctrl-C ends nothing else. */
  readonly interrupted?: () => AbortSignal
  /** Asks somebody at a terminal. Undefined: nobody is there. */
  readonly ask: ((question: string) => Promise<string>) | undefined
}

/** Options of kubectl by the same names. */
export interface ClusterChoice {
  /** Path of a file. Default: `$KUBECONFIG`, else `~/.kube/config`. */
  readonly kubeconfig?: string
  /** Name of a context in it. Default: the current one. */
  readonly context?: string
}

interface Connected {
  readonly client: KubeClient
  /** The namespace of the context. Absent: it names none. */
  readonly namespace?: string | undefined
  /** Returns the answer to a GET of a path of the API server, such as a log. Rejects with an ApiError. Absent: only objects can be read. */
  readonly readPath?: ((path: string) => Promise<string>) | undefined
  readonly close: () => Promise<void>
}
