import { z } from 'zod'
import { cel, celMatches } from '../schema/cel.ts'
import { type ConditionRules, conditionsText } from '../schema/condition-rules.ts'
import { DURATION_PATTERN } from './duration.ts'

export { cel, listMap } from '../schema/cel.ts'
export { GROUP, VERSION } from './group.ts'

/** A string that matches the pattern. With the keyword `pattern`, people would only see the pattern when they break it. */
export function matching(schema: z.ZodString, pattern: string, message: string): z.ZodString {
  const form = new RegExp(pattern)
  return cel(schema, { rule: celMatches('self', pattern), message, holds: (value: string) => form.test(value) })
}

/** As Kubernetes has it, in half of the characters: the cost of a rule grows with them. Its length is checked elsewhere. */
export const DNS_SUBDOMAIN = '^[a-z0-9]+((-+|[.])[a-z0-9]+)*$'

/** Name of a Kubernetes object: a DNS-1123 subdomain of at most 253 characters. */
export function objectName(): z.ZodString {
  return matching(
    z.string().min(1).max(253),
    DNS_SUBDOMAIN,
    'must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  )
}

/** A DNS-1123 label without its length. */
const LABEL = '^[a-z0-9]+(-+[a-z0-9]+)*$'

/** Includes the maximum length, so that it fully validates a name that has no schema of its own. */
export const DNS_LABEL = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'

/** Name of a namespace, a host or a network: a DNS-1123 label of at most 63 characters. */
export function dnsLabel(): z.ZodString {
  return matching(
    z.string().min(1).max(63),
    LABEL,
    'must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends',
  )
}

/**
 * Key in the data of a Secret or ConfigMap.
 * @param max characters. Kubernetes has 253; where there may be thousands of keys, fewer keep the rule within the budget of the API server.
 */
export function dataKey(kind: 'Secret' | 'ConfigMap', max = 253): z.ZodString {
  return matching(
    z.string().min(1).max(max),
    '^[-._a-zA-Z0-9]+$',
    `must be a key of a ${kind}: letters, digits, "-", "_" and "."`,
  )
}

const LABEL_VALUE = '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'

/** Schema for a field that becomes a label and part of a URL: a label value. `labelText` in names.ts converts any text to a label value. */
export function labelTextField(description: string) {
  return matching(
    z.string().min(1).max(63),
    LABEL_VALUE,
    'must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends',
  ).describe(description)
}

/**
 * Text of 1 to `max` characters in any alphabet. JavaScript counts most emoji as two characters, the API server as one. The rule counts as the API
 * server does.
 * @param field name of the field, for the message
 */
export function text(field: string, max: number): z.ZodString {
  return cel(
    z
      .string()
      .min(1)
      .max(2 * max),
    {
      rule: `self.size() <= ${max}`,
      message: `${field} must have at most ${max} characters`,
      holds: (value: string) => [...value].length <= max,
    },
  )
}

/** Duration in Go syntax (`72h`, `1h30m`, `500ms`), as a string. `parseDuration` returns the milliseconds. */
export function duration(): z.ZodString {
  return matching(
    z.string().max(48),
    DURATION_PATTERN,
    'must be a duration such as 72h, 1h30m, 45s or 500ms: numbers with h, m, s or ms behind each',
  )
}

/** Time in RFC 3339, such as `2026-01-31T12:00:00Z`. The API server checks it too. */
export function dateTime(description: string): z.ZodString {
  return z.string().max(64).meta({ description, format: 'date-time' })
}

/** Exactly one of these fields must be there. */
export function oneOf<S extends z.ZodObject>(
  schema: S,
  fields: readonly (keyof S['shape'] & string)[],
  message: string,
): S {
  return cel(schema, {
    rule: `[${fields.map((field) => `has(self.${field})`).join(', ')}].filter(one, one).size() == 1`,
    message,
    holds: (value: Readonly<Record<string, unknown>>) =>
      fields.filter((field) => value[field] !== undefined).length === 1,
  })
}

/** Optional text. */
export function maybeText(max: number, description: string) {
  return z.string().max(max).describe(description).optional()
}

/** Optional true or false. */
export function maybeFlag(description: string) {
  return z.boolean().describe(description).optional()
}

/** Count that cannot be negative. */
export function count(): z.ZodInt {
  return z.int().min(0)
}

/**
 * An integer or a string in the manifest, as Kubernetes accepts for its own quantities and ports. Append `.transform(String)` to read it as a string.
 * The constraints apply to the string form.
 */
export function intOrString(constraints: {
  readonly description: string
  readonly pattern: string
  readonly maxLength: number
  /** What the value must be, in words. */
  readonly error: string
}) {
  const { description, pattern, maxLength, error } = constraints
  const form = new RegExp(pattern)
  const either = z
    .union([z.int(), z.string().max(maxLength)], { error })
    .meta({ description, 'x-kubernetes-int-or-string': true, maxLength })
  return cel(either, {
    rule: `type(self) == int || ${celMatches('self', pattern)}`,
    message: error,
    holds: (value: string | number) => typeof value === 'number' || form.test(value),
  })
}

export const conditionStatus = z.enum(['True', 'False', 'Unknown'])

/** One condition of a status, as in every Kubernetes API. Built again for each use, so that each field can describe it itself. */
export const condition = z
  .object({
    type: z.string().min(1).max(316).describe('Name of the condition.'),
    status: conditionStatus.describe('Whether it holds: True, False or Unknown.'),
    reason: z.string().max(1024).describe('One word for programs that says why.'),
    message: z
      .string()
      .max(32768)
      .describe('A sentence for people that says why, and what to do where something is to be done.'),
    observedGeneration: count().describe('metadata.generation that the condition was computed for.').optional(),
    lastTransitionTime: dateTime('When the status last changed.').optional(),
  })
  .describe('One observed aspect of the object.')

export type Condition = z.output<typeof condition>

/** Conditions as a list map by type, so that several writers of a status never overwrite each other's entries. */
export function conditions(description: string) {
  return z
    .array(condition)
    .max(20)
    .meta({ description, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
}

/** A condition that every object has, and that changes with its phase. */
export function conditionOfPhase(means: string) {
  return { means, presence: 'always', told: 'never', gauge: 'phase' } as const
}

/** Conditions of every kind: whether there is still work to do. */
export const PROGRESS_CONDITIONS = {
  Reconciling: conditionOfPhase('work is in progress'),
  Stalled: conditionOfPhase('it cannot continue without a change'),
} as const

/** The `observedGeneration` of an object that the operator has not seen. The API server adds it, so that tools do not take no status for a good one. */
export const NOT_SEEN = -1

/** Schema of a status: the fields that all kinds have, then those of the kind. @param who name of the kind in prose */
export function statusOf<Phase extends z.ZodType, Fields extends z.ZodRawShape>(
  phase: Phase,
  who: string,
  says: { readonly phase: string; readonly conditions: ConditionRules },
  fields: Fields,
) {
  return z
    .object({
      observedGeneration: z
        .int()
        .min(NOT_SEEN)
        .describe(`metadata.generation that this status was computed for; ${NOT_SEEN} until the operator has seen it.`)
        .optional(),
      phase: phase.describe(says.phase).optional(),
      reason: maybeText(1024, `One word that says why the ${who} is in this phase.`),
      message: maybeText(4096, `A sentence that says what is going on or what the ${who} waits for.`),
      conditions: conditions(conditionsText(says.conditions)).optional(),
      ...fields,
    })
    .describe('What the operator observed. Written by the operator alone.')
}
