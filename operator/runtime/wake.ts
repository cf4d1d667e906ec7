/** When to look again without being told by an event. */
export interface Wake {
  readonly afterMs: number
  /** What will be true then; for the log. */
  readonly because: string
}

/** The one that comes first. */
export function sooner(one: Wake | undefined, other: Wake): Wake {
  return one !== undefined && one.afterMs <= other.afterMs ? one : other
}
