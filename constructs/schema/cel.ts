import { z } from 'zod'

/** One rule, told twice: to the API server in CEL, and to the operator and authors as a predicate. */
export interface CelRule<T> {
  /** CEL expression; `self` is the value that the rule is on. True means accepted. */
  readonly rule: string
  /** What the user reads when it is refused: what is wrong and what to write instead. The field and the value stand before it. */
  readonly message: string
  /** Field below `self` that the message is about. Default: the value itself. */
  readonly field?: string
  /** A sentence in place of the message that names what breaks the rule. Default: none, where the value itself says enough. */
  readonly offender?: CelOffender<T>
  /** The same rule in TypeScript. Must agree with `rule` for every value that the schema's types let through. */
  readonly holds: (value: T) => boolean
}

/** What breaks a rule, in one sentence, told twice as the rule is. Asked only where the rule is broken. */
export interface CelOffender<T> {
  /** CEL expression that gives the sentence. Where it fails or gives a line break, the message of the rule is said. */
  readonly rule: string
  /** The same in TypeScript. Undefined where `rule` would fail. */
  readonly of: (value: T) => string | undefined
}

/** Zod has no place for a check's CEL side, so it is kept here; `structural` refuses custom checks that are missing. */
const rulesByCheck = new WeakMap<object, CelRule<never>>()

/**
 * Adds rules that plain schema keywords cannot say. The only way to add a predicate to a schema here: `.refine()` would
 * be enforced by the operator but not by the API server.
 */
export function cel<Schema extends z.ZodType>(schema: Schema, ...rules: readonly CelRule<z.output<Schema>>[]): Schema {
  const checks = rules.map((rule) => {
    const check = z.check<z.output<Schema>>((payload) => {
      if (rule.holds(payload.value)) return
      const path = rule.field === undefined ? [] : [rule.field]
      payload.issues.push({ code: 'custom', message: messageOf(rule, payload.value), path, input: payload.value })
    })
    rulesByCheck.set(check, rule as CelRule<never>)
    return check
  })
  return schema.check(...checks) as Schema
}

/** As the API server chooses it. */
function messageOf<T>({ message, offender }: CelRule<T>, value: T): string {
  const sentence = offender?.of(value)
  return sentence === undefined || sentence.includes('\n') ? message : sentence
}

/** Checks for which the API server needs no CEL: a keyword of the schema says the same. */
const checksByKeyword = new WeakSet<object>()

/** A predicate that a keyword of the schema says to the API server. */
export function keywordCheck<Value>(check: z.core.CheckFn<Value>): z.core.$ZodCheck<Value> {
  const made = z.check<Value>(check)
  checksByKeyword.add(made)
  return made
}

/**
 * A list whose items differ in one field, which the API server merges by it: `x-kubernetes-list-type: map`. It refuses a second item of a
 * name by itself, at that item.
 */
export function listMap<Item extends z.ZodObject>(
  list: z.ZodArray<Item>,
  key: keyof z.output<Item> & string,
  description: string,
): z.ZodArray<Item> {
  const check = keywordCheck<z.output<Item>[]>(({ value, issues }) => {
    const keys = value.map((item) => item[key])
    for (const [at, one] of keys.entries()) {
      if (keys.indexOf(one) === at) continue
      const message = `must have a ${key} of its own: another item of the list has it too`
      issues.push({ code: 'custom', message, path: [at], input: value })
    }
  })
  const meta = { description, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }
  return list.check(check).meta(meta) as z.ZodArray<Item>
}

export function isCheckedByKeyword(check: object): boolean {
  return checksByKeyword.has(check)
}

/** The rule that a zod check was made from, or undefined if it was not made by `cel`. */
export function celRuleOf(check: object): CelRule<never> | undefined {
  return rulesByCheck.get(check)
}

/**
 * A CEL call that tests a text against a pattern. Raw string, so that backslashes mean the same on both sides. The
 * pattern has to be in the common part of RE2 and JavaScript, which the generator checks.
 */
export function celMatches(expression: string, pattern: string): string {
  if (pattern.includes("'")) throw new Error(`pattern must not contain a single quote: ${pattern}`)
  return `${expression}.matches(r'${pattern}')`
}
