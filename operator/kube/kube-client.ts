import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'

/**
 * Everything that this project asks of a Kubernetes API server, and the only way to ask it. There are two
 * implementations: over HTTP (`http-client.ts`) and in memory for deterministic tests. Objects are plain JSON in and
 * out. Every method throws {@link ApiError} (`api-error.ts`) for an answer that is not a success, and for no answer.
 */
export interface KubeClient {
  /** A live, consistent read (never from a cache). Throws NotFound when it does not exist. */
  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T>
  /** One page of a live list, of {@link ListOptions.project} where that is given. Pass `continueToken` of the last page to go on; 410 Expired means start over. */
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<ListPage<T>>
  /** POST. Throws AlreadyExists. The answer is the stored object. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T>
  /** PUT. `metadata.resourceVersion` is required: it is the compare-and-swap. Throws Conflict. */
  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T>
  /** PUT of the status subresource; fields outside `status` are ignored by the server. Compare-and-swap as `replace`. */
  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T>
  /** JSON merge patch (RFC 7386). Put `metadata.resourceVersion` into the patch to make it a compare-and-swap. */
  mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: RequestOptions,
  ): Promise<T>
  /** DELETE with preconditions. Resolves when the server accepted it; the object may live on until its finalizers go. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void>
  /**
   * Events after `resourceVersion`, bookmarks included; without one, everything that exists comes first. The iterable ends when the server ends the watch, and throws
   * {@link ApiError} when it reports an error (410 Expired among them) or the connection breaks. Abort `signal` to stop.
   */
  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  /** Give up, and throw NoAnswer, after so many milliseconds, waiting for a turn included. Default 30,000. */
  readonly timeoutMs?: number
  /**
   * Asked right before the request leaves, after any waiting for a turn. False: it is not sent, and an Unavailable error is
   * thrown. For requests that are only right for a while.
   */
  readonly isStillValid?: () => boolean
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Ask for metadata alone (PartialObjectMetadata): for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects a page; absent: all at once. */
  readonly limit?: number
  /**
   * What to keep of an object, asked as each arrives: the page is made of that. An object may have 1.5 MB, and there are hundreds on a
   * page.
   */
  readonly project?: (object: KubeObject) => unknown
  readonly continueToken?: string
}

export interface ListPage<T> {
  readonly items: readonly T[]
  /** The version of the whole list: a watch from here misses nothing. */
  readonly resourceVersion: string
  /** Present when there are more pages. */
  readonly continueToken?: string
  /** As it was sent; absent where nothing was. */
  readonly bytes?: number
}

export interface DeleteOptions extends RequestOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  /** Refuse (Conflict) to delete another object of the same name. */
  readonly uid?: string | undefined
  /** Refuse (Conflict) when the object changed since. */
  readonly resourceVersion?: string | undefined
}

export interface WatchOptions extends Selection {
  /**
   * Absent: the stream begins with every object as it is now, each as ADDED, and a bookmark that `endsInitialEvents`. Kubernetes
   * calls that a streaming list (WatchList, on by default since 1.34); a server that has none throws Rejected.
   */
  readonly resourceVersion?: string
  /** Ask the server to end the watch after so many seconds. */
  readonly timeoutSeconds?: number
  readonly signal?: AbortSignal
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Nothing changed up to this version; the stream is alive. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endsInitialEvents?: true }

/** One finished request, or a watch that was answered, for metrics. A watch that begins with what exists is a `list`. `code` is the HTTP status, or `<error>` when no answer came. */
export interface RequestReport {
  readonly verb: string
  readonly resource: string
  readonly code: string
  readonly seconds: number
  /** What the API server adds to an answer: a field that it does not know and dropped, a version that is deprecated. */
  readonly warning?: string
}
