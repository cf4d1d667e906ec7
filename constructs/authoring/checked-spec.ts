import { ApiObject, type ApiObjectMetadata, Chart, JsonPatch, Lazy } from 'cdk8s'
import type { Construct } from 'constructs'
import { z } from 'zod'
import { withValue } from '../api/message-value.ts'
import { allProblems } from '../api/parse-spec.ts'
import { dnsLabel } from '../api/shared.ts'
import type { Parsed, SpecProblem } from '../api/spec-problem.ts'
import { isJsonObject } from '../schema/json-object.ts'
import { unwrapped } from '../schema/unwrapped.ts'
import { appProblemsOf, appWarningsOf } from './app-problems.ts'
import type { AuthorWarning } from './author-warning.ts'
import { itemNames, placeOfItem, sentenceOfText } from './item-names.ts'
import { withKeptJson, withoutKeptJson } from './kept-json.ts'
import { kindWordsOf } from './kind-words.ts'
import { freeId, notePlace } from './made-at.ts'
import { markAuthored, problemsAround, problemsOfApp, teamProblems } from './node-problems.ts'
import { withPlainValues } from './plain-values.ts'
import { tellWarnings } from './warnings.ts'

/** What a construct of an Open Terrain kind is. */
export interface AuthoredKind<Spec> {
  /** Where it is in the API. */
  readonly resource: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespaced: boolean
    /** Its schema, of zod. */
    readonly spec: object
  }
  /** What `metadata.name` must be: a schema of zod for texts. */
  readonly name: object
  /** Checks a spec that people wrote. */
  readonly parse: (spec: unknown) => Parsed<Spec>
}

interface CheckedProps {
  /** As it is rendered. */
  readonly spec: unknown
  /** As it was parsed; undefined if anything is wrong with it. */
  readonly parsed: unknown
  readonly problems: readonly string[]
}

/**
 * An object of an Open Terrain kind that people write. What the API server would refuse, and unknown fields, of which it would only warn, are problems. Each
 * says place, field, value and fix. They are reported when the app is rendered, all of the app at once: by `app.synth()`, `Testing.synth`, `render`, and
 * by a program of Pulumi.
 */
export class AuthoredObject extends ApiObject {
  #spec: unknown

  /**
   * @internal
   * @param props metadata, and the fields of the spec beside it
   */
  constructor(scope: Construct, id: string, authored: AuthoredKind<object>, props: unknown) {
    const { apiVersion, kind } = authored.resource
    const metadata = isJsonObject(props) ? props['metadata'] : undefined
    const hasProblem = metadataProblems(metadata, authored.name, authored.resource).length > 0
    super(scope, freeId(scope, id, { what: 'a construct', name: id, hidden: new.target }), {
      apiVersion,
      kind,
      // With wrong metadata nothing is rendered: cdk8s would break on some of them.
      metadata: hasProblem ? { name: 'invalid' } : (metadata as ApiObjectMetadata),
      spec: Lazy.any({ produce: () => this.#spec }),
    })
    WRITTEN.set(this, { authored, metadata, props })
    markAuthored(this, {
      problems: () => problemsOf(this),
      images: () => kindWordsOf(this).authoredImages?.() ?? [],
      warnings: () => {
        const { parsed, problems } = checkOf(this)
        return problems.length > 0 ? [] : warningsOfParsed(this, parsed)
      },
    })
    notePlace(this, new.target)
    this.node.addValidation({ validate: () => [...problemsOf(this)] })
    // A cluster-scoped object does not get the namespace of its chart.
    if (!authored.resource.namespaced && Chart.of(this).namespace !== undefined)
      this.addJsonPatch(JsonPatch.remove('/metadata/namespace'))
  }

  /**
   * Returns the object as it is rendered.
   * @throws Error with all problems of the app, if this object or a construct in it has any
   */
  override toJson(): unknown {
    const { spec, parsed, problems } = checkOf(this)
    if (problems.length > 0 || teamProblems(this).length > 0 || problemsAround(this))
      throw new Error(problemsOfApp(this.node.root))
    this.#spec = spec
    tellWarnings(this, warningsOfParsed(this, parsed))
    return withoutKeptJson(super.toJson())
  }
}

/** What an object was made of. */
interface Written {
  readonly authored: AuthoredKind<object>
  readonly metadata: unknown
  readonly props: unknown
}

const WRITTEN = new WeakMap<object, Written>()

function writtenIn(object: AuthoredObject): Written {
  return WRITTEN.get(object) as Written
}

/** Returns the fields of the spec as they are to be checked. A `Size`, a `Duration` and a `Date` are the texts of a manifest. */
export function writtenSpecOf(object: AuthoredObject): unknown {
  const { authored, props } = writtenIn(object)
  const { givenSpec = (written) => written } = kindWordsOf(object)
  return withPlainValues(authored.resource.spec as z.core.$ZodType, givenSpec(specIn(props)))
}

/** Returns the fields of the spec as somebody gave them. */
function specIn(props: unknown): unknown {
  if (!isJsonObject(props)) return props
  const { metadata: _metadata, ...spec } = props
  return spec
}

function warningsOfParsed(object: AuthoredObject, parsed: unknown): readonly AuthorWarning[] {
  return [...(kindWordsOf(object).specWarnings?.(parsed) ?? []), ...appWarningsOf(object)]
}

/** Returns what is wrong with an object, as one text; nothing if it can be rendered. */
function problemsOf(object: AuthoredObject): readonly string[] {
  const { problems } = checkOf(object)
  if (problems.length === 0 || !isJsonObject(writtenIn(object).props)) return problems
  return [`the ${object.kind} is not valid\n  ${problems.join('\n  ')}`]
}

function checkOf(object: AuthoredObject): CheckedProps {
  const { authored, metadata, props } = writtenIn(object)
  const { resource, name, parse } = authored
  if (!isJsonObject(props)) {
    const problem = withValue('the props must be an object with metadata and fields of the spec', props)
    return { spec: undefined, parsed: undefined, problems: [problem] }
  }
  const written = writtenSpecOf(object)
  const parsed = parse(written)
  const { furtherProblems, metadataSentence = (sentence: string) => sentence } = kindWordsOf(object)
  const named = metadataProblems(metadata, name, resource).map(metadataSentence)
  const problems = [
    ...named,
    ...(furtherProblems?.() ?? []),
    ...fieldProblems(object, written, parsed),
    ...(named.length === 0 ? appProblemsOf(object) : []),
  ]
  if (!parsed.ok || problems.length > 0) return { spec: undefined, parsed: undefined, problems }
  return { spec: withKeptJson(resource.spec as z.core.$ZodType, parsed.spec), parsed: parsed.spec, problems }
}

/** Returns what is wrong with the fields of a spec, each with its place. */
function fieldProblems(object: AuthoredObject, written: unknown, parsed: Parsed<object>): readonly string[] {
  const schema = writtenIn(object).authored.resource.spec as z.core.$ZodType
  const words = kindWordsOf(object)
  const { placeOf = placeOfItem, sentenceOf = (_field: string, message: string) => message } = words
  const at = (path: string) => placeOf(path, itemNames(written, path))
  // A spec with the right types can be checked as a whole, even if it breaks rules: the author gets all problems at once.
  const { found, typed } = parsed.ok ? { found: [], typed: parsed.spec } : allOf(schema, written)
  const outputs = outputsIn(written, 'spec')
  const isOther = ({ path }: { readonly path: string }) => !outputs.some((one) => path.startsWith(one))
  const cannotWork = typed === undefined ? [] : (words.specProblems?.(typed) ?? [])
  const wrong = [...found, ...cannotWork, ...notJson(schema, written)]
  const fields = [...outputs.map((path) => ({ path, message: OUTPUT })), ...wrong.filter(isOther)]
  const unknown = unknownFields(schema, written, 'spec').filter(isOther)
  return [
    ...fields.map((one) => `${at(one.path)}: ${sentenceOf(one.path, sentenceOfText(written, one))}`),
    ...unknown.map(({ path, field }) => `${at(path)} has no field ${field}; remove it or correct its spelling`),
  ]
}

const OUTPUT =
  'is an Output of Pulumi, whose value is not known yet: write a text of your own in its place, and give the Output by that text in outputs of Rendered'

/** Returns the places of what only a program of Pulumi knows later. */
function outputsIn(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => outputsIn(item, `${path}[${at}]`))
  if (!isJsonObject(value)) return []
  if (Object.hasOwn(value, '__pulumiOutput')) return [path]
  return Object.entries(value).flatMap(([field, child]) => outputsIn(child, `${path}.${field}`))
}

/** Returns what cannot be written of the values that a schema keeps as they are. */
function notJson(schema: object, value: unknown, path = 'spec'): SpecProblem[] {
  const bare = unwrapped(schema as z.core.$ZodType)
  if (bare instanceof z.ZodUnknown)
    return isJson(value)
      ? []
      : [
          {
            path,
            message: 'cannot be written as JSON: it has a BigInt, or is part of itself; write a number or a text',
          },
        ]
  if (Array.isArray(value) && bare instanceof z.ZodArray)
    return value.flatMap((item, at) => notJson(bare.element, item, `${path}[${at}]`))
  if (!isJsonObject(value) || !(bare instanceof z.ZodObject)) return []
  return Object.entries(bare.shape).flatMap(([field, of]) =>
    Object.hasOwn(value, field) ? notJson(of as object, value[field], `${path}.${field}`) : [],
  )
}

function allOf(schema: object, written: unknown) {
  const { problems: found, typed } = allProblems(schema as z.ZodType, written)
  return { found, typed }
}

function metadataProblems(
  metadata: unknown,
  name: object,
  { kind, namespaced }: AuthoredKind<object>['resource'],
): string[] {
  if (!isJsonObject(metadata)) return [withValue('metadata: must be an object with a name', metadata)]
  const odd = Object.keys(metadata).filter((field) => !isJson(metadata[field]))
  const problems = [
    ...problemOf('metadata.name', name as z.ZodString, metadata['name']),
    ...odd.map((field) => `metadata.${field}: must be a text, or an object of texts`),
  ]
  const { namespace } = metadata
  if (namespace === undefined) return problems
  const outside = withValue(`metadata.namespace: must be left out: a ${kind} is in no namespace`, namespace)
  return [...problems, ...(namespaced ? problemOf('metadata.namespace', dnsLabel(), namespace) : [outside])]
}

/** Whether it can be written into a manifest: numbers without bounds, functions and circles cannot. */
function isJson(value: unknown): boolean {
  try {
    return value === undefined || JSON.stringify(value) !== undefined
  } catch {
    return false
  }
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

interface UnknownField {
  readonly path: string
  readonly field: string
}

function unknownFields(schema: z.core.$ZodType, value: unknown, path: string): UnknownField[] {
  const bare = unwrapped(schema)
  if (Array.isArray(value) && bare instanceof z.ZodArray) {
    return value.flatMap((item, at) => unknownFields(bare.element, item, `${path}[${at}]`))
  }
  if (!isJsonObject(value) || !(bare instanceof z.ZodObject)) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = bare.shape
  return Object.entries(value).flatMap(([field, child]) => {
    if (child === undefined) return []
    const known = Object.hasOwn(shape, field) ? shape[field] : undefined
    return known === undefined ? [{ path, field }] : unknownFields(known, child, `${path}.${field}`)
  })
}
