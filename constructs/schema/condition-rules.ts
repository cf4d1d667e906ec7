/**
 * What is true of one condition of a kind, declared once. What is done with conditions follows from it: which of them a plan takes away, what `ot why`
 * tells, what the gauges count, the description in the CRD and the reference.
 */
export interface ConditionRule<Reason extends string = string> {
  /** For people, after its name: when it is True, and what else they need to know. No full stop at the end. */
  readonly means: string
  /**
   * `always`: each object has it, True or False. `passing`: it is there while there is something to say, and is taken away by a plan that says nothing
   * of it. `lasting`: absent at first; once there, it stays until a plan takes it away itself.
   */
  readonly presence: 'always' | 'passing' | 'lasting'
  /** The status that people should know of beside phase and reason: `ot why` tells of it. */
  readonly told: 'whenTrue' | 'whenFalse' | 'never'
  /**
   * `phase`: its last change says since when an object is in its phase. `reason`: while people should know of it, it is a state of its own in `ot_state_objects`, which
   * alerts see unless its reason is quiet. `none`: the gauges of states do not look at it, and an Event about it is a Normal one.
   */
  readonly gauge: 'phase' | 'reason' | 'none'
  /** The reasons that it may have. Default: any reason of the kind, as that of its phase. */
  readonly reasons?: readonly Reason[]
}

/** The conditions of a kind, by type, in the order of the reference. */
export type ConditionRules<Reason extends string = string> = Readonly<Record<string, ConditionRule<Reason>>>

/** The types of the conditions that are there only while there is something to say. */
export type PassingIn<Rules extends ConditionRules> = {
  [T in keyof Rules]: Rules[T]['presence'] extends 'passing' ? T : never
}[keyof Rules]

/**
 * A status whose conditions are the declared ones, so that code cannot look for another one. An operator of another version may have written more: those
 * stay as they are.
 */
export type WithConditions<
  Status extends { readonly conditions?: readonly { type: string }[] | undefined },
  Rules,
> = Omit<Status, 'conditions'> & {
  conditions?: (Omit<NonNullable<Status['conditions']>[number], 'type'> & { type: keyof Rules })[] | undefined
}

/** Returns what the field `conditions` is described with. */
export function conditionsText(rules: ConditionRules): string {
  return Object.entries(rules)
    .map(([type, { means }]) => `${type}: ${means}.`)
    .join(' ')
}
