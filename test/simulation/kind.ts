import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import type { Oracle } from './oracle/oracle.ts'
import type { Action } from './schedule.ts'

/** Long enough for the longest queue of failing downloads, one after the other. */
export const LONGEST_QUEUE_MS = 6 * 3_600_000

/** How objects ended, by kind, namespace and name. Of uids and times there is nothing in it, so that two runs can be compared. */
export interface Ends {
  /** All that a run comes to that nothing but its schedule decides: nobody acted while it went on. */
  readonly whole: Readonly<Record<string, unknown>>
  /** The part of it that does not depend on who was first, people or the operator. */
  readonly decided: Readonly<Record<string, unknown>>
}

/** Something that names an image. */
export interface Reference {
  /** As a status calls it. */
  readonly title: string
  /** Since when it does, at the latest. */
  readonly sinceMs: number
  /** Since when it holds off an explicit deletion too; undefined while it does not. */
  readonly usesSinceMs: number | undefined
}

/** Carries out some of the actions of a schedule. */
export interface Actor {
  /** Whether the action is one of its own. */
  carryOut(action: Action): boolean
}

/** What people do with objects of a kind. */
export interface People extends Actor {
  /** What they have in a namespace, also when it comes back. */
  furnishNamespace?(name: string): void
  /** Puts what they create on the timeline. Returns when the last of it comes, in virtual milliseconds. */
  plan(): number
  /** Once all trouble is over, everybody asks for a retry: what comes of it depends on specs alone. */
  retryAll?(): void
  /** They look again, and clear away what keeps objects waiting. */
  clearAway?(): void
  /** They delete it all. */
  deleteAll(): void
}

/** Where objects of a kind come to rest. */
export interface Rest {
  /** For people: what has not come to rest where its spec, and what is there of what it names, lets it. */
  restless(): readonly string[]
  ends(): Ends
  /** Whether it depends on who was first what becomes of this image. */
  isUndecided?(image: KubeObject): boolean
}

/**
 * What one kind of object brings to a simulated run: what exists of it, what people do to it, which promises are watched, and where it
 * comes to rest. World, network, timeline, trouble, chronicle and the order of a run are the same for all kinds.
 */
export interface Kind {
  readonly people: People
  /** Who else carries out what is of this kind. */
  readonly actors?: readonly Actor[]
  readonly rest: Rest
  /** For the promises that concern this kind alone. */
  readonly oracles: readonly Oracle[]
  /** Once all trouble is over everything of it comes to rest within this time. */
  readonly restsWithinMs: number
  /** When what people have begun with it is over, in virtual milliseconds. */
  readonly busyUntilMs?: number
  /** What is there before anybody acts, beside what is in namespaces. */
  furnish?(): void
  /** Whether this write of the operator is this kind's business, and leaves to people what is theirs. */
  permits(commit: Commit): boolean
  /** Objects of this kind that refer to the image. */
  referencesTo?(image: KubeObject): readonly Reference[]
  /** Everything that people have of it. A label on it makes the operator look again. */
  objects(): readonly (readonly [ResourceType, KubeObject])[]
}
