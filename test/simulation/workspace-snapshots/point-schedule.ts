/** A point in time of a schedule: somebody takes it, and may do it harm. */
export interface PointPlan {
  /** Number of its workspace. */
  readonly workspace: number
  readonly createdAtMs: number
  /** When it is deleted, after its creation. Undefined: at the end. */
  readonly deletedAfterMs: number | undefined
  /** When somebody deletes one of its snapshots, after its creation. Undefined: never. */
  readonly harmedAfterMs: number | undefined
}

/** Values that somebody asks for a restore with: few, so that one comes back. */
export const RESTORE_VALUES = ['first', 'second', 'third'] as const

/** Policies of people's own restores for a guest that runs; the usual one if undefined. */
export const RESTORE_POLICIES = [undefined, 'StopTarget', 'FailImmediate', 'WaitEventually'] as const

/** What people do with one point in time that is there. */
export type PointAction = { readonly point: number } & (
  | { readonly do: 'restorePoint'; readonly value: number; readonly scope: 'Machines' | 'Everything' | undefined }
  | { readonly do: 'deletePoint' }
  /** What KubeVirt keeps of one of its machine snapshots is deleted. */
  | { readonly do: 'loseContent'; readonly number: number }
  /** A restore that KubeVirt works on in the workspace is deleted. */
  | { readonly do: 'stopRestore'; readonly number: number }
  /** Somebody asks KubeVirt for a restore of one of its machines. */
  | { readonly do: 'restoreByHand'; readonly number: number; readonly policy: number }
)
