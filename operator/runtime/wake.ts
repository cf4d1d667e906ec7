/** When to requeue without a watch event. */
export interface Wake {
  readonly afterMs: number
  /** What will be true then; for the log. */
  readonly because: string
}

/** Returns the earlier one. */
export function sooner(one: Wake | undefined, other: Wake): Wake {
  return one !== undefined && one.afterMs <= other.afterMs ? one : other
}
