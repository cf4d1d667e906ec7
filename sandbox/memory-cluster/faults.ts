import type { ResourceType } from '../../operator/kube/kube-object.ts'

/** One request, as seen by the code that decides its fate or counts it. */
export interface RequestInfo {
  /** Name of the process that sends it. */
  readonly actor: string
  readonly verb: 'get' | 'list' | 'create' | 'replace' | 'replaceStatus' | 'mergePatch' | 'delete' | 'watch'
  readonly resource: ResourceType
  /** `namespace/name`, if the request names one object. */
  readonly key?: string
  /** The object, the patch, or the options of a delete, list or watch. */
  readonly body?: unknown
}

/**
 * What happens to one request. Times are milliseconds from when it is sent, but for the `answerMs` of `deliver` and
 * `loseAnswer`, which counts from when it is carried out.
 */
export type Fate = {
  /** Time that the request waits for its turn in the client before it is sent, if it is still valid then. */
  readonly turnMs?: number
} & (
  | { readonly kind: 'deliver'; readonly requestMs: number; readonly answerMs: number }
  /** It never reaches the store. */
  | {
      readonly kind: 'refuse'
      readonly status: 400 | 403 | 409 | 422 | 429 | 500 | 503 | 504
      readonly answerMs: number
      /** Message of an admission webhook, or of a server that cannot reach one. Default: the message of Kubernetes for this status. */
      readonly message?: string
      readonly retryAfterMs?: number
    }
  /** Not carried out, no response. */
  | { readonly kind: 'loseRequest'; readonly answerMs: number }
  /** Carried out, but the response is lost. */
  | { readonly kind: 'loseAnswer'; readonly requestMs: number; readonly answerMs: number }
  /** No response, and carried out later. */
  | { readonly kind: 'late'; readonly requestMs: number; readonly answerMs: number }
)

/** The API server that serves a watch, if there are several. Lists without a resourceVersion, gets and writes are up to date at each of them. */
export interface ServerView {
  /** Delay of its watch cache behind each change, in milliseconds. */
  readonly lagMs: number
  /**
   * What the server does if the watcher is ahead of it. `wait`: sends nothing until it has newer events, as Kubernetes does.
   * `replay`: sends events again that the watcher already has. `refuse`: returns 504 "Too large resource version".
   */
  readonly whenAhead: 'wait' | 'replay' | 'refuse'
}

/**
 * What happens to one watch event on its way to one watcher. Within a watch, first deliveries keep their order: a delay
 * also delays the events behind it. Events of different watches can overtake each other.
 */
export interface Passage {
  readonly delayMs: number
  /** 2: duplicated. 0: lost; an API server does this and continues only if a later event of the same object follows. */
  readonly times?: number
  /**
   * The event is sent again after this many later events of the same watch (at least 1), as by a stale API server that
   * sends its past events again.
   */
  readonly againAfter?: number
  /** The connection breaks right after the event. */
  readonly breakAfter?: boolean
}
