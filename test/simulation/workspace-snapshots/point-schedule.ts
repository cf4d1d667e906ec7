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
