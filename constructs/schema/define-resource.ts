import type { z } from 'zod'
import type { ConditionRules } from './condition-rules.ts'

export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** Path in the object, with a leading dot: `.status.phase`. */
  readonly jsonPath: string
  readonly description: string
  /** Above 0: shown only by `kubectl get -o wide`. */
  readonly priority?: number
}

/** A narrower rule on `metadata.name`, for the API server and for authors. */
export interface NameRule {
  /** Means the same in RE2 and JavaScript. */
  readonly pattern: string
  /** Shown to users when the name is refused. */
  readonly message: string
}

export interface ResourceDefinition<Spec extends z.ZodObject, Status extends z.ZodObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** What `metadata.name` must be, in addition to the rules for every object. Default: nothing. */
  readonly name?: NameRule
  /** One or two sentences for `kubectl explain`. */
  readonly description: string
  readonly spec: Spec
  readonly status: Status
  /** The conditions that its status has. */
  readonly conditions: ConditionRules
  readonly printerColumns: readonly PrinterColumn[]
}

/** Everything that is known about one Open Terrain kind: its place in the API, its schemas and its printer columns. */
export interface Resource<Spec extends z.ZodObject = z.ZodObject, Status extends z.ZodObject = z.ZodObject>
  extends ResourceDefinition<Spec, Status> {
  /** `<group>/<version>`. */
  readonly apiVersion: string
  /** Name of the CustomResourceDefinition: `<plural>.<group>`. */
  readonly crdName: string
}

/** Returns the definition that types, CRD, reference and checks of a kind are derived from. */
export function defineResource<Spec extends z.ZodObject, Status extends z.ZodObject>(
  definition: ResourceDefinition<Spec, Status>,
): Resource<Spec, Status> {
  return {
    ...definition,
    apiVersion: `${definition.group}/${definition.version}`,
    crdName: `${definition.plural}.${definition.group}`,
  }
}
