import { z } from 'zod'

/** One rule in two forms: in CEL for the API server, and as a predicate for the operator and authors. */
export interface CelRule<T> {
  /** CEL expression. `self` is the value that the rule is on. True means accepted. */
  readonly rule: string
  /** Shown to users when the value is refused: what is wrong and what to write instead. It follows the field and the value. */
  readonly message: string
  /** Field below `self` that the message is about. Default: the value itself. */
  readonly field?: string
  /** A sentence that names what breaks the rule and replaces the message. Default: none, if the value itself says enough. */
  readonly offender?: CelOffender<T>
  /** The same rule in TypeScript. Must agree with `rule` for every value that the types of the schema accept. */
  readonly holds: (value: T) => boolean
  /** All that breaks the rule, for authors: the API server and the operator name the first alone. Default: the rule has one sentence. */
  readonly finds?: (value: T) => readonly CelBreach[]
}

/** One thing that breaks a rule. */
export interface CelBreach {
  /** Below the value that the rule is on. */
  readonly path: readonly PropertyKey[]
  /** A sentence with its name and value. */
  readonly message: string
}

/** What breaks a rule, in one sentence, in the same two forms. Evaluated only if the rule is broken. */
export interface CelOffender<T> {
  /** CEL expression for the sentence. If it fails or returns a line break, the message of the rule is used. */
  readonly rule: string
  /** The same in TypeScript. Returns undefined if `rule` would fail. */
  readonly of: (value: T) => string | undefined
}

/** Zod cannot store the CEL form of a check, so it is kept here. `structural` refuses custom checks without one. */
const rulesByCheck = new WeakMap<object, CelRule<never>>()

/**
 * Adds rules that plain schema keywords cannot express. The only way to add a predicate to a schema here: the operator would enforce `.refine()`, but
 * the API server would not.
 */
export function cel<Schema extends z.ZodType>(schema: Schema, ...rules: readonly CelRule<z.output<Schema>>[]): Schema {
  const checks = rules.map((rule) => {
    const check = z.check<z.output<Schema>>((payload) => {
      if (rule.holds(payload.value)) return
      const path = rule.field === undefined ? [] : [rule.field]
      const { value: input } = payload
      // The other rules are checked all the same, as the API server does.
      payload.issues.push({
        code: 'custom',
        message: textOf(rule, input),
        path,
        input,
        params: { [BROKEN]: { rule, input } },
        continue: true,
      })
    })
    rulesByCheck.set(check, rule as CelRule<never>)
    return check
  })
  return schema.check(...checks) as Schema
}

const BROKEN = Symbol('broken')

interface Broken {
  readonly rule: CelRule<unknown>
  readonly input: unknown
}

/** Returns all that an issue of a rule is about, each with its whole path; undefined if it has one sentence alone. */
export function findsOf(issue: z.core.$ZodIssue): readonly CelBreach[] | undefined {
  if (issue.code !== 'custom') return undefined
  const { [BROKEN]: broken } = (issue.params ?? {}) as { readonly [BROKEN]?: Broken }
  if (broken?.rule.finds === undefined) return undefined
  const { rule, input } = broken
  // The last step is the field that the message of the rule is about.
  const root = rule.field === undefined ? issue.path : issue.path.slice(0, -1)
  return rule.finds?.(input).map(({ path, message }) => ({ path: [...root, ...path], message }))
}

/** Chooses the message as the API server does. */
function textOf<T>({ message, offender }: CelRule<T>, value: T): string {
  const sentence = offender?.of(value)
  return sentence === undefined || sentence.includes('\n') ? message : sentence
}

/** Checks that need no CEL: a keyword of the schema makes the API server perform them. */
const checksByKeyword = new WeakSet<object>()

/** Returns a check that a keyword of the schema makes the API server perform, too. */
export function keywordCheck<Value>(check: z.core.CheckFn<Value>): z.core.$ZodCheck<Value> {
  const made = z.check<Value>(check)
  checksByKeyword.add(made)
  return made
}

/**
 * A list whose items differ in one field, by which the API server merges them: `x-kubernetes-list-type: map`. The API server itself refuses a second
 * item with the same key, and reports it at that item.
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

/** Returns the rule of a zod check, or undefined if `cel` did not create the check. */
export function celRuleOf(check: object): CelRule<never> | undefined {
  return rulesByCheck.get(check)
}

/**
 * Returns a CEL call that tests a text against a pattern. Uses a raw string, so that backslashes mean the same on both sides. The pattern must be in
 * the common part of RE2 and JavaScript, which the generator checks.
 */
export function celMatches(expression: string, pattern: string): string {
  if (pattern.includes("'")) throw new Error(`pattern must not contain a single quote: ${pattern}`)
  return `${expression}.matches(r'${pattern}')`
}
