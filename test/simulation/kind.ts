import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import type { Oracle } from './oracle/oracle.ts'
import type { Action } from './schedule.ts'

/** Long enough for the longest queue of failing downloads, one after the other. */
export const LONGEST_QUEUE_MS = 6 * 3_600_000

/** End states of objects, by kind, namespace and name. Contains no uids and no times, so that two runs can be compared. */
export interface Ends {
  /** The complete end state. The schedule alone decides it only if nobody acted during the run. */
  readonly whole: Readonly<Record<string, unknown>>
  /** The part that does not depend on who was first, people or the operator. */
  readonly decided: Readonly<Record<string, unknown>>
}

/** The end state of an object of which timing decides so much that it is compared with no other run's. */
export const UNDECIDED = 'undecided'

/** Something that names an image. */
export interface Reference {
  /** As a status shows it. */
  readonly title: string
  /** Since when it names the image, at the latest. */
  readonly sinceMs: number
  /** Since when it also blocks an explicit deletion; undefined if it does not. */
  readonly usesSinceMs: number | undefined
}

/** Carries out some of the actions of a schedule. */
export interface Actor {
  /** Carries out the action if it is one of its own, and reports whether it is. */
  carryOut(action: Action): boolean
}

/** What people do with objects of a kind. */
export interface People extends Actor {
  /** Creates what they have in a namespace, also when the namespace comes back. */
  furnishNamespace?(name: string): void
  /** Puts what they create on the timeline. Returns when the last of it is created, in virtual milliseconds from now. */
  plan(): number
  /** Asks for a retry of everything, once all trouble is over: then specs alone decide the result. */
  retryAll?(): void
  /** Called repeatedly. Removes what keeps objects waiting. */
  clearAway?(): void
  /** Deletes all of it. */
  deleteAll(): void
}

/** The end state of objects of a kind. */
export interface Rest {
  /** Describes what has not reached an end state that its spec, and what exists of what it names, allow. */
  restless(): readonly string[]
  ends(): Ends
  /** Reports whether the end state of this image depends on who was first. */
  isUndecided?(image: KubeObject): boolean
}

/**
 * What one kind of object contributes to a simulated run: its objects, what people do to them, which invariants are checked, and their end
 * state. World, network, timeline, trouble, chronicle and the order of a run are the same for all kinds.
 */
export interface Kind {
  readonly people: People
  /** Who else carries out actions of this kind. */
  readonly actors?: readonly Actor[]
  readonly rest: Rest
  /** For the invariants that concern this kind alone. */
  readonly oracles: readonly Oracle[]
  /** Once all trouble is over, all its objects reach their end state within this time. */
  readonly restsWithinMs: number
  /** When everything that people started with it is over, in virtual milliseconds. */
  readonly busyUntilMs?: number
  /** Creates what exists before anybody acts, in addition to `People.furnishNamespace`. */
  furnish?(): void
  /** Reports whether this write of the operator concerns this kind, and does not change what belongs to people. */
  permits(commit: Commit): boolean
  /** Returns the objects of this kind that refer to the image. */
  referencesTo?(image: KubeObject): readonly Reference[]
  /** Returns all objects of this kind. A label on one of them makes the operator reconcile it. */
  objects(): readonly (readonly [ResourceType, KubeObject])[]
}
