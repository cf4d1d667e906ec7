import type { ResourceType } from '../../operator/kube/kube-object.ts'

/** One request, as those see it who decide its fate or count it. */
export interface RequestInfo {
  /** Name of the process that sends it. */
  readonly actor: string
  readonly verb: 'get' | 'list' | 'create' | 'replace' | 'replaceStatus' | 'mergePatch' | 'delete' | 'watch'
  readonly resource: ResourceType
  /** `namespace/name`, where it names one object. */
  readonly key?: string
  /** The object, the patch, or the options of a delete, list or watch. */
  readonly body?: unknown
}

/**
 * What happens to one request. Times are milliseconds from when it is sent, but for the `answerMs` of what is carried
 * out, which counts from then.
 */
export type Fate = {
  /** It waits so long for its turn in the client before it is sent, if it is still valid then. */
  readonly turnMs?: number
} & (
  | { readonly kind: 'deliver'; readonly requestMs: number; readonly answerMs: number }
  /** It never reaches the store. */
  | {
      readonly kind: 'refuse'
      readonly status: 400 | 403 | 409 | 422 | 429 | 500 | 503 | 504
      readonly answerMs: number
      /** Of an admission webhook, or of the server that cannot reach one. Default: what Kubernetes says with this status. */
      readonly message?: string
      readonly retryAfterMs?: number
    }
  /** Never carried out, no answer. */
  | { readonly kind: 'loseRequest'; readonly answerMs: number }
  /** Carried out, no answer. */
  | { readonly kind: 'loseAnswer'; readonly requestMs: number; readonly answerMs: number }
  /** No answer, and carried out after that. */
  | { readonly kind: 'late'; readonly requestMs: number; readonly answerMs: number }
)

/** Which API server a watch is served by, where there are several. Lists without a resourceVersion, gets and writes are up to date at each. */
export interface ServerView {
  /** Its watch cache learns of every change so many milliseconds later. */
  readonly lagMs: number
  /**
   * What it does where the watcher knows more than it does. `wait`: it says nothing until it knows more, as Kubernetes does.
   * `replay`: it tells its past once more. `refuse`: it answers 504 "Too large resource version".
   */
  readonly whenAhead: 'wait' | 'replay' | 'refuse'
}

/**
 * What happens to one watch event on its way to one watcher. Events of one watch come in order the first time: a delay
 * holds up those behind it, too. Those of different watches overtake each other.
 */
export interface Passage {
  readonly delayMs: number
  /** 2: duplicated. 0: lost; no API server does that and goes on, unless a later event of the same object follows. */
  readonly times?: number
  /**
   * It comes again after so many later events of the same watch (at least 1), as from an API server that lags behind and
   * tells its past once more.
   */
  readonly againAfter?: number
  /** The connection breaks right after it. */
  readonly breakAfter?: boolean
}
