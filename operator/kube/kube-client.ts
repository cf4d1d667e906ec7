import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'

/**
 * All requests of this project to a Kubernetes API server go through this interface. There are two implementations: over HTTP (`http-client.ts`)
 * and in memory for deterministic tests. Objects are plain JSON in and out. Every method throws {@link ApiError} (`api-error.ts`) if the response
 * is not a success or there is no response.
 */
export interface KubeClient {
  /** Live, consistent read, never from a cache. Throws NotFound if the object does not exist. */
  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T>
  /** One page of a live list, mapped by {@link ListOptions.project} if set. Pass its `continueToken` to continue; 410 Expired means start over. */
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<ListPage<T>>
  /** POST. Returns the stored object. Throws AlreadyExists. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T>
  /** PUT. `metadata.resourceVersion` is required: it is the compare-and-swap. Throws Conflict. */
  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T>
  /** PUT of the status subresource. The server ignores fields outside `status`. Compare-and-swap like `replace`. */
  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T>
  /** JSON merge patch (RFC 7386). Put `metadata.resourceVersion` into the patch to make it a compare-and-swap. */
  mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>
  /** DELETE with preconditions. Resolves when the server accepts it. The object may exist until its finalizers are removed. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void>
  /**
   * Watch events after `resourceVersion`, including bookmarks. Without one, all existing objects come first. The iterable ends when the server ends
   * the watch. It throws {@link ApiError} if the server reports an error (such as 410 Expired) or the connection breaks. Abort `signal` to stop.
   */
  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  /** Timeout in milliseconds, including the wait for a turn. Throws NoAnswer when it expires. Default: 30,000. */
  readonly timeoutMs?: number
  /**
   * Called right before the request is sent, after any wait for a turn. If it returns false, the request is not sent and Unavailable is thrown.
   * For requests that are valid only for a limited time.
   */
  readonly isStillValid?: () => boolean
}

export interface WriteOptions extends RequestOptions {
  /** The API server refuses fields that it does not know (Rejected, 400), instead of dropping them without a word. */
  readonly isStrict?: boolean
  /** The API server judges the request with all its webhooks and rules, and stores nothing. */
  readonly isDryRun?: boolean
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Request only metadata (PartialObjectMetadata), for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects per page. Absent: all objects in one page. */
  readonly limit?: number
  /**
   * Returns the part of an object to keep. Called for each object as it arrives, and the page consists of the results: an object can have 1.5 MB, and
   * a page can have hundreds.
   */
  readonly project?: (object: KubeObject) => unknown
  readonly continueToken?: string
}

export interface ListPage<T> {
  readonly items: readonly T[]
  /** Version of the whole list. A watch from this version misses nothing. */
  readonly resourceVersion: string
  /** Present if there are more pages. */
  readonly continueToken?: string
  /** Size of the response body; absent if nothing was sent. */
  readonly bytes?: number
}

export interface DeleteOptions extends RequestOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  /** Fail with Conflict if the object of this name has another uid. */
  readonly uid?: string | undefined
  /** Fail with Conflict if the object has changed since this version. */
  readonly resourceVersion?: string | undefined
  /** How long a pod may take to end. 0: it has ended, as its kubelet says. */
  readonly gracePeriodSeconds?: number | undefined
}

export interface WatchOptions extends Selection {
  /**
   * Absent: the stream starts with the current state of every object, each as ADDED, followed by a bookmark with `endsInitialEvents`. Kubernetes
   * calls this a streaming list (WatchList, enabled by default since 1.34). If the server does not support it, Rejected is thrown.
   */
  readonly resourceVersion?: string
  /** Seconds after which the server should end the watch. */
  readonly timeoutSeconds?: number
  readonly signal?: AbortSignal
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** No further changes up to this version. The stream is alive. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endsInitialEvents?: true }

/** Finished request or answered watch, for metrics. A watch from the current state is a `list`. `code`: HTTP status, or `<error>` if no response. */
export interface RequestReport {
  readonly verb: string
  readonly resource: string
  readonly code: string
  readonly seconds: number
  /** Warnings in the response, such as an unknown field that the API server dropped or a deprecated version. */
  readonly warning?: string
}
