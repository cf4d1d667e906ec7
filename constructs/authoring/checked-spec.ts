import type { ApiObjectMetadata } from 'cdk8s'
import { z } from 'zod'
import type { Parsed } from '../api/parse-spec.ts'
import { dnsLabel } from '../api/shared.ts'
import { withValue } from '../api/told-value.ts'

/** What a construct of a kind of ours is given: the metadata, and the fields of the spec beside it. */
export interface Authored<Spec> {
  /** Path of the construct. */
  readonly place: string
  readonly kind: string
  readonly schema: z.ZodType
  /** What `metadata.name` has to be. */
  readonly name: z.ZodString
  readonly parse: (spec: unknown) => Parsed<Spec>
}

/**
 * Metadata and spec as they are to be written. Throws, naming place, field, value and fix, on what the API server would refuse, and on
 * fields that nobody knows, which it would only warn of.
 */
export function checkedProps<Spec>(
  { place, kind, schema, name, parse }: Authored<Spec>,
  props: unknown,
): { metadata: ApiObjectMetadata; spec: Spec } {
  if (!isObject(props))
    throw new Error(`${place}: ${withValue('the props must be an object with metadata and fields of the spec', props)}`)
  const { metadata, ...written } = props
  const parsed = parse(written)
  const problems = [
    ...metadataProblems(metadata, name),
    ...(parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`)),
    ...unknownFields(schema, written, 'spec').map((unknown) => `${unknown}; remove it or correct its spelling`),
  ]
  if (!parsed.ok || problems.length > 0)
    throw new Error(`${place}: the ${kind} is not valid\n  ${problems.join('\n  ')}`)
  return { metadata: metadata as ApiObjectMetadata, spec: parsed.spec }
}

function metadataProblems(metadata: unknown, name: z.ZodString): string[] {
  if (!isObject(metadata)) return [withValue('metadata: must be an object with a name', metadata)]
  return [
    ...problemOf('metadata.name', name, metadata['name']),
    ...(metadata['namespace'] === undefined ? [] : problemOf('metadata.namespace', dnsLabel(), metadata['namespace'])),
  ]
}

function problemOf(path: string, schema: z.ZodString, value: unknown): string[] {
  const result = schema.safeParse(value)
  if (result.success) return []
  if (value === undefined) return [`${path}: must be set: it is required`]
  const { code, message } = result.error.issues.at(-1) ?? {}
  return [
    withValue(`${path}: ${code === 'custom' ? message : 'must be a text that is neither empty nor too long'}`, value),
  ]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unknownFields(schema: z.core.$ZodType, value: unknown, path: string): string[] {
  const bare = unwrapped(schema)
  if (Array.isArray(value) && bare instanceof z.ZodArray) {
    return value.flatMap((item, at) => unknownFields(bare.element, item, `${path}[${at}]`))
  }
  if (!isObject(value) || !(bare instanceof z.ZodObject)) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = bare.shape
  return Object.entries(value).flatMap(([field, child]) => {
    const known = Object.hasOwn(shape, field) ? shape[field] : undefined
    return known === undefined ? [`${path} has no field ${field}`] : unknownFields(known, child, `${path}.${field}`)
  })
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema
}
