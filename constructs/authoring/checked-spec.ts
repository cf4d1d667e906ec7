import { ApiObject, type ApiObjectMetadata, Chart, JsonPatch } from 'cdk8s'
import type { Construct } from 'constructs'
import { z } from 'zod'
import { withValue } from '../api/message-value.ts'
import type { Parsed } from '../api/parse-spec.ts'
import { dnsLabel } from '../api/shared.ts'
import type { Resource } from '../schema/define-resource.ts'
import { unwrapped } from '../schema/unwrapped.ts'
import { withKeptJson, withoutKeptJson } from './kept-json.ts'

/** What a construct of an Open Terrain kind is given: the metadata, and the fields of the spec beside it. */
interface Authored<Spec> {
  readonly resource: Resource
  /** What `metadata.name` must be. */
  readonly name: z.ZodString
  readonly parse: (spec: unknown) => Parsed<Spec>
}

/** An object of an Open Terrain kind that people write. Throws at synth what {@link checkedProps} throws. */
export class AuthoredObject extends ApiObject {
  constructor(scope: Construct, id: string, authored: Authored<object>, props: unknown) {
    const { apiVersion, kind } = authored.resource
    super(scope, id, { apiVersion, kind, ...checkedProps(`${scope.node.path}/${id}`, authored, props) })
    // A cluster-scoped object does not get the namespace of its chart.
    if (!authored.resource.namespaced && Chart.of(this).namespace !== undefined)
      this.addJsonPatch(JsonPatch.remove('/metadata/namespace'))
  }

  override toJson(): unknown {
    return withoutKeptJson(super.toJson())
  }
}

/**
 * Returns metadata and spec as they are to be written. Throws an error with place, field, value and fix for everything that the API server would
 * refuse, and for unknown fields, of which it would only warn.
 */
function checkedProps<Spec>(
  place: string,
  { resource, name, parse }: Authored<Spec>,
  props: unknown,
): { metadata: ApiObjectMetadata; spec: unknown } {
  if (!isObject(props))
    throw new Error(`${place}: ${withValue('the props must be an object with metadata and fields of the spec', props)}`)
  const { metadata, ...written } = props
  const parsed = parse(written)
  const problems = [
    ...metadataProblems(metadata, name, resource),
    ...(parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`)),
    ...unknownFields(resource.spec, written, 'spec').map((unknown) => `${unknown}; remove it or correct its spelling`),
  ]
  if (!parsed.ok || problems.length > 0)
    throw new Error(`${place}: the ${resource.kind} is not valid\n  ${problems.join('\n  ')}`)
  return { metadata: metadata as ApiObjectMetadata, spec: withKeptJson(resource.spec, parsed.spec) }
}

function metadataProblems(metadata: unknown, name: z.ZodString, { kind, namespaced }: Resource): string[] {
  if (!isObject(metadata)) return [withValue('metadata: must be an object with a name', metadata)]
  const problems = problemOf('metadata.name', name, metadata['name'])
  const { namespace } = metadata
  if (namespace === undefined) return problems
  const outside = withValue(`metadata.namespace: must be left out: a ${kind} is in no namespace`, namespace)
  return [...problems, ...(namespaced ? problemOf('metadata.namespace', dnsLabel(), namespace) : [outside])]
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
