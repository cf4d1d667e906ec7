// What the page knows of objects: the server sends these, and the page shows them.

import type { LabPicture } from '../picture/picture.ts'
import type { SlotInUse } from '../queue/queue-picture.ts'
import type { Explanation } from '../why/why-text.ts'

/** Kinds of objects that the page shows, each with what people call them there. */
export const UI_KINDS = ['labs', 'images', 'machines', 'syncs', 'points'] as const
export type UiKind = (typeof UI_KINDS)[number]

/** One object in a few words. Fields that nobody knows, or that its kind does not have, are absent. All times are RFC 3339. */
export interface Row {
  /** `namespace/name`; the name alone where the kind has no namespaces. */
  readonly key: string
  readonly name: string
  readonly namespace?: string | undefined
  /** `Terminating` while it is being deleted. Absent: the operator has not seen it. */
  readonly phase?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** When condition Ready last changed. */
  readonly since?: string | undefined
  readonly createdAt?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The status is of an earlier spec. */
  readonly isStale?: boolean | undefined
  /** Why it is not up to date, as its condition UpToDate says; absent if it is. */
  readonly outdatedReason?: string | undefined

  // Labs
  /** Namespace that everything of it is in. */
  readonly ownNamespace?: string | undefined
  /** `3/7`. */
  readonly ready?: string | undefined
  readonly failed?: number | undefined
  /** `6/18`. */
  readonly outdated?: string | undefined
  readonly waitingFor?: string | undefined
  readonly expiresAt?: string | undefined
  readonly isOff?: boolean | undefined
  readonly warnings?: number | undefined

  // Images
  /** Place in the queue; 1 is next. */
  readonly place?: number | undefined
  /** It waits for something else than a slot, and holds up nobody. */
  readonly isHeldUp?: boolean | undefined
  /** `42.0%`. */
  readonly progress?: string | undefined
  readonly attempt?: number | undefined
  /** When the running download began. */
  readonly startedAt?: string | undefined
  readonly queuedAt?: string | undefined
  readonly nextRetryTime?: string | undefined
  /** How many objects refer to it. */
  readonly users?: number | undefined
}

/** The slots of the queue, as the operator's ledger and the images say. */
export interface SlotsUpdate {
  /** Downloads at a time. Absent: not known. */
  readonly limit?: number | undefined
  readonly slots: readonly SlotInUse[]
  /** Why the limit is not known. */
  readonly unseen?: string | undefined
}

/** What has changed of one kind since the last update, or all of it in the first one. */
export interface KindUpdate {
  readonly put: readonly Row[]
  /** Keys of what is gone. */
  readonly gone: readonly string[]
}

/** One message from the server to the page. */
export interface Update {
  /** The page forgets what it knew, and starts with this. */
  readonly isWhole: boolean
  readonly kinds: Readonly<Partial<Record<UiKind, KindUpdate>>>
  /** Absent: as before. */
  readonly slots?: SlotsUpdate | undefined
  /** Kinds that are not known, or not any more, and why: `pods is forbidden: ...`. */
  readonly problems: Readonly<Partial<Record<UiKind, string>>>
  /** Kinds whose first list has not arrived. */
  readonly pending: readonly UiKind[]
}

/** What an object says of itself, and what others say of it. */
export interface Story {
  readonly kind: UiKind
  readonly row: Row
  readonly conditions: readonly StoryCondition[]
  /** Newest first. */
  readonly timeline: readonly StoryMoment[]
  /** Why Events are missing from the timeline: the caller may not list them. */
  readonly noEvents?: string | undefined
  /** There are more Events than the timeline has. */
  readonly hasMoreEvents?: boolean | undefined
  /** Why it is as it is, as `ot why` says it. */
  readonly explanation: Explanation
  /** Of a lab whose spec is valid. */
  readonly picture?: LabPicture | undefined
  /** Commands that say more, to paste. */
  readonly commands: readonly string[]
  /** Components of a lab. */
  readonly components: readonly StoryComponent[]
}

export interface StoryCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly since?: string | undefined
}

export interface StoryMoment {
  readonly at: string
  /** An Event of Kubernetes, or a condition that changed. */
  readonly from: 'Event' | 'Condition'
  readonly isWarning: boolean
  readonly title: string
  readonly text: string
  /** How often, if more than once. */
  readonly count?: number | undefined
}

export interface StoryComponent {
  readonly kind: string
  readonly name: string
  readonly phase: string
  readonly reason: string
  readonly message?: string | undefined
}

/** What the page asks the server to do, with the rights of the caller. */
export interface VerbRequest {
  readonly verb: UiVerb
  /** Names of labs. */
  readonly names: readonly string[]
  /** How much later the labs are to end, in milliseconds. For `extend`. */
  readonly byMs?: number | undefined
  /** Somebody has read what is lost, and said yes. For `rebuild` and `reset`: without it, the answer says what is lost, and nothing is done. */
  readonly isConfirmed?: boolean | undefined
}

export const UI_VERBS = ['start', 'stop', 'extend', 'rebuild', 'reset'] as const
export type UiVerb = (typeof UI_VERBS)[number]

/** What became of one lab. */
export interface VerbOutcome {
  readonly name: string
  /** As in `ot -o json`: changed, unchanged, planned, refused. */
  readonly result: string
  readonly text: string
}

export type VerbAnswer =
  | { readonly outcomes: readonly VerbOutcome[]; readonly problem?: undefined }
  | { readonly problem: string; readonly outcomes?: undefined }
