import { isApiError } from '../../kube/api-error.ts'
import type { KubeObject, Raw, ResourceType } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'
import type { Requeue } from '../../runtime/requeue.ts'
import type { Readable, Stored } from '../../runtime/store.ts'

/** Fields that the API server drops from objects of a kind, of those that were asked for: it says nothing about it. */
export type DroppedFields = ReadonlySet<string>

/** Returns those of the fields (`spec.source.http.checksum`) that the schema of a definition does not have. An API server without a schema keeps all. */
export function droppedFields(definition: KubeObject, version: string, fields: readonly string[]): DroppedFields {
  const { spec }: Raw = definition
  const served = (spec?.versions ?? []).find(({ name }: Raw) => name === version)
  const schema = served?.schema?.openAPIV3Schema
  return new Set(fields.filter((field) => schema !== undefined && !isKept(schema, field.split('.'))))
}

function isKept(schema: Raw, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return true
  if (schema['items'] !== undefined) return isKept(schema['items'], [name, ...rest])
  const properties = schema['properties'] ?? {}
  const of = Object.hasOwn(properties, name) ? properties[name] : schema['additionalProperties']
  return of === true || (typeof of === 'object' && isKept(of, rest))
}

interface ServedFieldsOptions extends LiveReadServices {
  /** The metadata of CustomResourceDefinitions, with versions. */
  readonly definitions: Readable<Stored>
  readonly type: ResourceType
  /** The fields that matter. */
  readonly fields: readonly string[]
  readonly onRead: () => void
}

/** Reads which fields the API server keeps of a kind of somebody else, once for every version of its definition. Older versions of a product have fewer. */
export class ServedFields extends LiveReadLoop {
  readonly #options: ServedFieldsOptions
  /** By the metadata in the cache, which is another object for every version. */
  readonly #dropped = new WeakMap<Stored, DroppedFields>()
  readonly #key: string

  constructor(options: ServedFieldsOptions) {
    super(options, `${options.type.kind.toLowerCase()}-fields`, (_key, signal) => this.#read(signal))
    this.#options = options
    this.#key = `${options.type.plural}.${options.type.group}`
  }

  /** Returns the fields that are dropped; undefined: not known until they are {@link read}. */
  get dropped(): DroppedFields | undefined {
    const meta = this.#options.definitions.get(this.#key)
    return meta === undefined ? new Set() : this.#dropped.get(meta)
  }

  /** Reads soon which fields are dropped, unless that is known. The listener is called when it is. */
  read(): void {
    this.readAfter(this.#key, 0)
  }

  /** Looks again when the definition changes. Returns what stops that. */
  listen(): () => void {
    return this.#options.definitions.onChange(({ key }) => {
      if (key === this.#key) this.readAfter(key, 0)
    })
  }

  async #read(signal: AbortSignal): Promise<Requeue | undefined> {
    const { definitions, onRead } = this.#options
    const meta = definitions.get(this.#key)
    if (meta === undefined || this.#dropped.has(meta)) return undefined
    this.#dropped.set(meta, await this.#droppedNow(signal))
    onRead()
    return undefined
  }

  /** A newer version than that of the cache is read again when the watch brings it. */
  async #droppedNow(signal: AbortSignal): Promise<DroppedFields> {
    const { client, type, fields } = this.#options
    const project = (definition: KubeObject) => droppedFields(definition, type.version, fields)
    const named = { fieldSelector: `metadata.name=${this.#key}`, project, signal }
    try {
      for await (const dropped of listAll(client, CUSTOM_RESOURCE_DEFINITION, named)) return dropped
    } catch (error) {
      if (!isApiError(error, 'Rejected')) throw error
    }
    return new Set()
  }
}
