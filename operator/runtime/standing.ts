import type { Said } from './conditions.ts'

/** Where an object stands, in the words that people read. */
export interface Standing<P extends string = string, R extends string = string> {
  readonly phase: P
  readonly reason: R
  readonly message: string
  /** The message without what moves by itself: how far a step is, when the next try comes. Absent: nothing in it moves. */
  readonly steady?: string
}

/** What a message says for as long as nothing but time passes. */
export function steadyOf({ message, steady = message }: Pick<Standing, 'message' | 'steady'>): string {
  return steady
}

/** The same standing, and what is to be said beside it. */
export function withMore<S extends Pick<Standing, 'message' | 'steady'>>(standing: S, text: string): S {
  const { message, steady } = standing
  return { ...standing, message: message + text, ...(steady !== undefined && { steady: steady + text }) }
}

/** Whether anything goes on, needs somebody, or has come to its end. */
interface Course {
  readonly isBusy: boolean
  /** It cannot go on without a change. */
  readonly isStalled: boolean
  /** Nothing more comes of the present spec by itself. */
  readonly isSettled: boolean
}

/** A condition that is True or False. */
export function said(type: string, holds: boolean, { reason, message }: Pick<Said, 'reason' | 'message'>): Said {
  return { type, status: holds ? 'True' : 'False', reason, message }
}

/** The conditions that every kind has beside its own. All carry the reason of the phase. */
export function courseConditions({ reason, message }: Omit<Standing, 'phase'>, course: Course): Said[] {
  const { isBusy, isStalled, isSettled } = course
  return [
    said('Reconciling', isBusy, { reason, message: isBusy ? message : '' }),
    said('Stalled', isStalled, { reason, message: isStalled ? message : '' }),
    said('Settled', isSettled, { reason, message: '' }),
  ]
}

/** What is planned is tried again and again; until it works, people should read why it does not. */
export function withRefusal<S extends Standing, R extends S['reason']>(
  standing: S,
  refusal: string | undefined,
  /** Of an object that only waits. */
  { phase, reason }: { readonly phase: S['phase']; readonly reason: R },
): S {
  if (refusal === undefined) return standing
  const told = withMore(standing, `; the API server rejected the change: ${refusal}`)
  return standing.phase === phase ? { ...told, reason } : told
}

/** The reason for where an object stands. */
export function reasonOf({ conditions }: { readonly conditions?: readonly Said[] | undefined }): string | undefined {
  return conditions?.find(({ type }) => type === 'Reconciling')?.reason
}
