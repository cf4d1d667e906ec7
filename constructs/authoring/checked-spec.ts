import { ApiObject, type ApiObjectMetadata, Chart, JsonPatch, Lazy } from 'cdk8s'
import type { Construct } from 'constructs'
import { z } from 'zod'
import { withValue } from '../api/message-value.ts'
import { allProblems } from '../api/parse-spec.ts'
import { dnsLabel } from '../api/shared.ts'
import type { Parsed, SpecProblem } from '../api/spec-problem.ts'
import { unwrapped } from '../schema/unwrapped.ts'
import { appProblemsOf, appWarningsOf } from './app-problems.ts'
import type { AuthorWarning } from './author-warning.ts'
import { withKeptJson, withoutKeptJson } from './kept-json.ts'
import { freeId, notePlace } from './made-at.ts'
import {
  type AuthoredImage,
  type AuthoredNode,
  markAuthored,
  problemsAround,
  problemsOfApp,
  teamProblems,
} from './node-problems.ts'
import { withPlainValues } from './plain-values.ts'
import { tellWarnings } from './warnings.ts'

/** What a construct of an Open Terrain kind is. The types of zod are left out: the programs of authors are compiled without them. */
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
export class AuthoredObject extends ApiObject implements AuthoredNode {
  readonly #authored: AuthoredKind<object>
  readonly #metadata: unknown
  readonly #written: unknown
  #spec: unknown

  /** @param props metadata, and the fields of the spec beside it */
  constructor(scope: Construct, id: string, authored: AuthoredKind<object>, props: unknown) {
    const { apiVersion, kind } = authored.resource
    const metadata = isObject(props) ? props['metadata'] : undefined
    const hasProblem = metadataProblems(metadata, authored.name, authored.resource).length > 0
    super(scope, freeId(scope, id, { what: 'a construct', name: id, hidden: new.target }), {
      apiVersion,
      kind,
      // With wrong metadata nothing is rendered: cdk8s would break on some of them.
      metadata: hasProblem ? { name: 'invalid' } : (metadata as ApiObjectMetadata),
      spec: Lazy.any({ produce: () => this.#spec }),
    })
    this.#authored = authored
    this.#metadata = metadata
    this.#written = props
    markAuthored(this)
    notePlace(this, new.target)
    this.node.addValidation({ validate: () => [...this.problems()] })
    // A cluster-scoped object does not get the namespace of its chart.
    if (!authored.resource.namespaced && Chart.of(this).namespace !== undefined)
      this.addJsonPatch(JsonPatch.remove('/metadata/namespace'))
  }

  /** The fields of the spec as they are to be checked. A `Size`, a `Duration` and a `Date` are the texts of a manifest. */
  protected writtenSpec(): unknown {
    return withPlainValues(this.#authored.resource.spec as z.core.$ZodType, this.givenSpec())
  }

  /** The fields of the spec as somebody gave them. */
  protected givenSpec(): unknown {
    if (!isObject(this.#written)) return this.#written
    const { metadata: _metadata, ...spec } = this.#written
    return spec
  }

  /** What is wrong beside what the spec itself shows, as sentences without a place. */
  protected furtherProblems(): readonly string[] {
    return []
  }

  /** What is wrong with a spec that its schema accepts, and that cannot work. @param _spec as it was parsed */
  protected specProblems(_spec: unknown): readonly SpecProblem[] {
    return []
  }

  /** What may not work. @param _spec as it was parsed */
  protected specWarnings(_spec: unknown): readonly AuthorWarning[] {
    return []
  }

  /** Returns what may not work; empty if the object is not valid. */
  warnings(): readonly AuthorWarning[] {
    const { parsed, problems } = this.#check()
    return problems.length > 0 ? [] : this.#warnings(parsed)
  }

  /** What it says that images are. */
  authoredImages(): readonly AuthoredImage[] {
    return []
  }

  /** Returns the place of a field, such as spec.vms[3].cpu, for a reader who knows the constructs. */
  protected placeOf(field: string): string {
    return field
  }

  /** Returns what is wrong with a field, for a reader who knows the constructs. @param _field its place, such as spec.vms[3].cpu */
  protected sentenceOf(_field: string, message: string): string {
    return message
  }

  /** Returns what is wrong with the metadata, for a reader who did not write all of them. */
  protected metadataSentence(sentence: string): string {
    return sentence
  }

  /** Returns what is wrong with the object, as one text; empty if it can be rendered. */
  problems(): readonly string[] {
    const { problems } = this.#check()
    if (problems.length === 0 || !isObject(this.#written)) return problems
    return [`the ${this.kind} is not valid\n  ${problems.join('\n  ')}`]
  }

  /**
   * Returns the object as it is rendered.
   * @throws Error with all problems of the app, if this object or a construct in it has any
   */
  override toJson(): unknown {
    const { spec, parsed, problems } = this.#check()
    if (problems.length > 0 || teamProblems(this).length > 0 || problemsAround(this))
      throw new Error(problemsOfApp(this.node.root))
    this.#spec = spec
    tellWarnings(this, this.#warnings(parsed))
    return withoutKeptJson(super.toJson())
  }

  #warnings(parsed: unknown): readonly AuthorWarning[] {
    return [...this.specWarnings(parsed), ...appWarningsOf(this)]
  }

  #check(): CheckedProps {
    const { resource, name, parse } = this.#authored
    if (!isObject(this.#written)) {
      const problem = withValue('the props must be an object with metadata and fields of the spec', this.#written)
      return { spec: undefined, parsed: undefined, problems: [problem] }
    }
    const written = this.writtenSpec()
    const parsed = parse(written)
    const { found, typed } = parsed.ok ? { found: [], typed: parsed.spec } : allOf(resource.spec, written)
    // A spec with the right types can be checked as a whole, even if it breaks rules: the author gets all problems at once.
    const outputs = outputsIn(written, 'spec')
    const isOther = ({ path }: { readonly path: string }) => !outputs.some((one) => path.startsWith(one))
    const wrong = [
      ...found,
      ...(typed === undefined ? [] : this.specProblems(typed)),
      ...notJson(resource.spec, written),
    ]
    const fields = [...outputs.map((path) => ({ path, message: OUTPUT })), ...wrong.filter(isOther)].map(
      ({ path, message }) => `${this.placeOf(path)}: ${this.sentenceOf(path, message)}`,
    )
    const schema = resource.spec as z.core.$ZodType
    const unknown = unknownFields(schema, written, 'spec')
      .filter(isOther)
      .map(({ path, field }) => `${this.placeOf(path)} has no field ${field}; remove it or correct its spelling`)
    const named = metadataProblems(this.#metadata, name, resource).map((one) => this.metadataSentence(one))
    const problems = [
      ...named,
      ...this.furtherProblems(),
      ...fields,
      ...unknown,
      ...(named.length === 0 ? appProblemsOf(this) : []),
    ]
    if (!parsed.ok || problems.length > 0) return { spec: undefined, parsed: undefined, problems }
    return { spec: withKeptJson(schema, parsed.spec), parsed: parsed.spec, problems }
  }
}

const OUTPUT =
  'is an Output of Pulumi, whose value is not known yet: write a text of your own in its place, and give the Output by that text in outputs of Rendered'

/** Returns the places of what only a program of Pulumi knows later. */
function outputsIn(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => outputsIn(item, `${path}[${at}]`))
  if (!isObject(value)) return []
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
  if (!isObject(value) || !(bare instanceof z.ZodObject)) return []
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
  if (!isObject(metadata)) return [withValue('metadata: must be an object with a name', metadata)]
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
  if (!isObject(value) || !(bare instanceof z.ZodObject)) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = bare.shape
  return Object.entries(value).flatMap(([field, child]) => {
    if (child === undefined) return []
    const known = Object.hasOwn(shape, field) ? shape[field] : undefined
    return known === undefined ? [{ path, field }] : unknownFields(known, child, `${path}.${field}`)
  })
}
