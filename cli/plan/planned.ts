import { type Policy, shortHash } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../operator/kube/kube-object.ts'

/** What a plan without a cluster rests on. */
export interface Assumptions {
  readonly policy: Policy
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Images that are taken for Ready, with the size of their disk where that is known, by `<namespace>/<name>`. */
  readonly images: ReadonlyMap<string, string | undefined>
}

/** What a cluster has already of what is planned. */
export interface PresentCluster {
  /** Returns an object of ours as it is stored; undefined if it is not there, or may not be read. Throws an ApiError if there is no answer. */
  readonly liveOf: (object: KubeObject) => Promise<KubeObject | undefined>
  /** Returns the children that a stored lab has, or the root disk that a stored machine starts from. Throws an ApiError if there is no answer. */
  readonly childrenOf: (live: KubeObject) => Promise<readonly KubeObject[]>
}

/** One object of ours that is stored. */
export interface Present {
  readonly live: KubeObject
  readonly children: readonly KubeObject[]
}

/** What becomes of one object. */
export interface Planned {
  /** What the operator would create, in the order in which it does. */
  readonly objects: readonly KubeObject[]
  /** Sentences about what was assumed, and about what the operator would wait for. */
  readonly remarks: readonly string[]
  /** Children of before that nothing asks for any more and that stay, as `idOfPlanned`: something needs them, or they have data. */
  readonly staying?: readonly string[]
}

/** Of the uid of an object that is not stored. Names that follow from a uid are others in a cluster. */
const NO_UID = '00000000-0000-0000-0000-0000'

/** Rounds after which nothing changes any more. */
export const ROUNDS_MAX = 12

/** Returns an object as if the API server had stored it. */
export function stored<T extends KubeObject>(object: T, more: object = {}): T {
  const { metadata } = object
  const uid = metadata.uid ?? `${NO_UID}${shortHash([idOfPlanned(object)])}`
  return { ...object, metadata: { generation: 1, resourceVersion: '1', ...metadata, uid }, ...more }
}

/** Identifies an object among those of a plan. */
export function idOfPlanned({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`
}
