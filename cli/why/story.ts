import {
  DATA_SYNC_REASON_HELP,
  REASON_HELP,
  RESOURCES,
  type ReasonHelp,
  type VIRTUAL_MACHINE_CONDITIONS,
  VIRTUAL_MACHINE_REASON_HELP,
  type VM_DISK_IMAGE_CONDITIONS,
  type WORKSPACE_CONDITIONS,
  WORKSPACE_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASON_HELP,
} from '@open-terrain/constructs/operator'
import { isTerminating, type KubeObject } from '../../operator/kube/kube-object.ts'
import { isTold, type StatusCondition } from '../../operator/runtime/conditions.ts'
import { objectStateOf } from '../live/object-state.ts'
import type { Reader } from './reader.ts'

/** What a link is about. Not all of it are objects: an attempt, or the queue, has a kind and a name too. */
export interface Subject {
  readonly kind: string
  /** API group. Absent: it is no object. */
  readonly group?: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Something that is worth knowing beside what a link is about: a condition of a warning. */
export interface Note {
  readonly condition: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly since?: string | undefined
}

/** One link of the chain from a symptom to its causes. */
export interface StoryLink {
  readonly about: Subject
  readonly uid?: string | undefined
  /** As it should be, or on its way. */
  readonly isWell: boolean
  /** In its own words. */
  readonly phase?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** Condition that says so: `Ready=False`. */
  readonly condition?: string | undefined
  /** RFC 3339. */
  readonly since?: string | undefined
  /** Why nobody can look. */
  readonly unseen?: string | undefined
  /** What the catalogue of reasons says. */
  readonly help?: ReasonHelp | undefined
  /** What the commands of the remedy are about. Default: what the link is about. */
  readonly subject?: Subject | undefined
  /** Commands to paste, instead of those that the remedy gives. */
  readonly commands?: readonly string[] | undefined
  readonly notes?: readonly Note[] | undefined
  /** What it is so for. */
  readonly because: readonly StoryLink[]
  /** It was told before. */
  readonly isRepeated?: true
  /** Further ones beside those in `because`, which are alike. */
  readonly more?: string | undefined
}

/** What is needed to tell one. */
export interface Telling {
  readonly reader: Reader
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Where the operator, its policy and the ledger are. */
  readonly operatorNamespace: string
  /** Returns the link of an image; one that says so if it was told before. */
  readonly image: (key: { readonly namespace: string; readonly name: string }) => Promise<StoryLink>
}

/** The catalogue of each kind, its own reasons first. A parent has reasons of its children too. */
const CATALOGUES: Readonly<Record<string, readonly Readonly<Record<string, ReasonHelp>>[]>> = {
  VMDiskImage: [REASON_HELP],
  VirtualMachine: [VIRTUAL_MACHINE_REASON_HELP, REASON_HELP],
  DataSync: [DATA_SYNC_REASON_HELP, REASON_HELP],
  Workspace: [WORKSPACE_REASON_HELP, VIRTUAL_MACHINE_REASON_HELP, REASON_HELP],
  WorkspaceSnapshot: [WORKSPACE_SNAPSHOT_REASON_HELP],
}

/** Returns what the catalogue says of a reason of one of our kinds. */
export function helpOf(kind: string, reason: string | undefined): ReasonHelp | undefined {
  const found = (CATALOGUES[kind] ?? []).find((catalogue) => Object.hasOwn(catalogue, reason ?? ''))
  return found?.[reason ?? '']
}

/** An object of one of our kinds. An operator of another version may say more, or less. */
export interface OwnObject extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number | undefined
    readonly phase?: string | undefined
    readonly reason?: string | undefined
    readonly message?: string | undefined
    readonly conditions?: readonly StatusCondition[] | undefined
  }
}

const WELL: ReadonlySet<string | undefined> = new Set(['Ready', 'Succeeded'])

/** Returns the link of an object of ours, by its status. */
export function ownLink(object: OwnObject, because: readonly StoryLink[] = []): StoryLink {
  const { kind, metadata, status = {} } = object
  const { phase, message } = status
  const isGoing = isTerminating(object)
  const blocked = conditionIn(object, 'DeletionBlocked')
  const told = isGoing && blocked?.status === 'True' ? blocked : undefined
  const ready = conditionIn(object, 'Ready')
  const reason = told?.reason ?? status.reason ?? ready?.reason
  return {
    about: subjectFor(object),
    uid: metadata.uid,
    isWell: !isGoing && WELL.has(phase) && isSeen(object),
    phase: isGoing ? 'Terminating' : (phase ?? 'New'),
    reason,
    message: told?.message ?? message ?? ready?.message,
    condition: ready === undefined ? undefined : `Ready=${ready.status}`,
    since: isGoing ? metadata.deletionTimestamp : (ready?.lastTransitionTime ?? metadata.creationTimestamp),
    help: helpOf(kind, reason),
    notes: notesOf(object).filter((note) => note.reason !== reason),
    because,
  }
}

/** Reports whether the operator has seen the present spec. */
export function isSeen({ metadata, status }: OwnObject): boolean {
  return (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0)
}

/** The types of the conditions of all kinds. */
type ConditionType =
  | keyof typeof VM_DISK_IMAGE_CONDITIONS
  | keyof typeof VIRTUAL_MACHINE_CONDITIONS
  | keyof typeof WORKSPACE_CONDITIONS

export function conditionIn({ status }: OwnObject, type: ConditionType): StatusCondition | undefined {
  return status?.conditions?.find((one) => one.type === type)
}

/** Returns what the kind says that people should know of. */
function notesOf({ kind, status }: OwnObject): Note[] {
  const conditions = status?.conditions ?? []
  const rules = RESOURCES.find((one) => one.kind === kind)?.conditions ?? {}
  return conditions
    .filter((one) => isTold(rules, one))
    .map(({ type, status: holds, reason, message, lastTransitionTime: since }) => {
      return { condition: type, status: holds, reason, message, since }
    })
}

export function subjectFor({ apiVersion, kind, metadata }: KubeObject): Subject {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return { kind, group, namespace: metadata.namespace, name: metadata.name }
}

/** Returns the link of an object of a neighbour, by what it says of itself. */
export function neighbourLink(object: KubeObject, because: readonly StoryLink[] = []): StoryLink {
  const { state, isWell, message } = objectStateOf(object)
  return { about: subjectFor(object), uid: object.metadata.uid, isWell, phase: state, message, because }
}

/** Returns the link of what nobody can look at. */
export function unseenLink(about: Subject, unseen: string): StoryLink {
  return { about, isWell: true, unseen, because: [] }
}
