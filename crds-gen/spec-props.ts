import { celRuleOf, RESOURCES } from '@open-terrain/constructs/operator'
import { z } from 'zod'
import { jsDoc } from './js-doc.ts'

/** A field of a schema as authors see it: without its wrappers, and with what is known of it. */
interface Field {
  readonly schema: z.core.$ZodTypes
  readonly isOptional: boolean
  readonly description: string
  readonly example: unknown
}

interface Place {
  readonly path: string
  /** The name of an interface at this place, without its ending. */
  readonly stem: string
}

/** Shapes that several kinds have alike, and those whose name would be none: the name of each, by the first path that has it. */
const NAMES: Readonly<Record<string, string>> = {
  'VirtualMachine.tolerations[]': 'TolerationProps',
  'VirtualMachine.readiness': 'ReadinessProps',
  'VirtualMachine.users[]': 'GuestUserProps',
  'VirtualMachine.users[].passwordSecretRef': 'PasswordSecretRefProps',
  'VirtualMachine.userDataSecretRef': 'UserDataSecretRefProps',
  'VirtualMachine.sysprepSecretRef': 'SysprepSecretRefProps',
  'VirtualMachine.instancetype': 'InstancetypeProps',
  'VirtualMachine.preference': 'PreferenceProps',
  'VirtualMachine.hostAliases[]': 'HostAliasProps',
  'Workspace.vms[].ansible.roles.build[]': 'WorkspaceRoleProps',
  'Workspace.containerClusters[].initContainers[]': 'WorkspaceInitContainerProps',
  'Workspace.containerClusters[].containers[]': 'WorkspaceContainerProps',
  'Workspace.containerClusters[].containers[].startupProbe': 'WorkspaceProbeProps',
  'Workspace.containerClusters[].initContainers[].resources': 'WorkspaceContainerResourcesProps',
  'Workspace.containerClusters[].initContainers[].capabilities': 'WorkspaceContainerCapabilitiesProps',
  'Workspace.containerClusters[].initContainers[].env[]': 'WorkspaceEnvProps',
  'Workspace.containerClusters[].initContainers[].envFrom[]': 'WorkspaceEnvFromProps',
  'Workspace.containerClusters[].initContainers[].volumeMounts[]': 'WorkspaceVolumeMountProps',
  'Workspace.containerClusters[].initContainers[].files[]': 'WorkspaceFileProps',
}

const HEAD = `/**
 * The specs of Open Terrain kinds as people write them. What authors read of a field in the editor is what its schema says.
 * Generated from constructs/ by \`npm run gen\`; do not edit.
 */
import type { Duration, Size } from 'cdk8s'

`

/** Returns the interfaces of all specs, in TypeScript: one for each object that people write, with a comment on every field. */
export function specProps(): string {
  const writer = new Writer()
  for (const { kind, spec } of RESOURCES) writer.nameOf(fieldOf(spec), kind, `${kind}SpecInput`)
  return HEAD + writer.text()
}

/** Returns the example of a field and the schema that must accept it, for every field that has one. */
export function specExamples(): readonly (readonly [path: string, schema: z.core.$ZodType, example: unknown])[] {
  return RESOURCES.flatMap(({ kind, spec }) => examplesIn(fieldOf(spec), kind))
}

function examplesIn(field: Field, path: string): (readonly [string, z.core.$ZodType, unknown])[] {
  const below = Object.entries(childrenOf(field.schema)).flatMap(([step, child]) =>
    examplesIn(fieldOf(child), path + step),
  )
  return field.example === undefined ? below : [[path, field.schema, field.example], ...below]
}

function childrenOf(schema: z.core.$ZodTypes): Record<string, z.core.$ZodType> {
  const { def } = schema._zod
  if (def.type === 'array') return { '[]': def.element }
  if (def.type !== 'object') return {}
  return Object.fromEntries(Object.entries(def.shape).map(([name, child]) => [`.${name}`, child]))
}

class Writer {
  /** Shapes that are alike have one name. */
  readonly #names = new Map<string, string>()
  /** In the order in which people read them: an object before what is in it. */
  readonly #interfaces = new Map<string, string>()

  text(): string {
    return [...this.#interfaces.values()].join('\n')
  }

  /** Returns the name of the interface of an object. */
  nameOf({ schema, description }: Field, path: string, name: string): string {
    const isNew = !this.#interfaces.has(name)
    if (isNew) this.#interfaces.set(name, '')
    const fields = Object.entries((schema as z.core.$ZodObject)._zod.def.shape)
    const place: Place = { path, stem: name.replace(/(Props|SpecInput)$/, '') }
    const lines = fields.map(([field, child]) => this.#property(field, fieldOf(child), stepped(place, `.${field}`)))
    const body = `${lines.join('\n')}\n}\n`
    const known = this.#names.get(body)
    if (known === undefined && !isNew) throw new Error(`${path}: two shapes would be called ${name}: name one in NAMES`)
    if (known !== undefined && isNew) this.#interfaces.delete(name)
    if (known !== undefined) return known
    this.#names.set(body, name)
    this.#interfaces.set(name, `${jsDoc({ text: withoutDefault(description)[0] })}export interface ${name} {\n${body}`)
    return name
  }

  #property(name: string, field: Field, place: Place): string {
    const { schema, isOptional, description, example } = field
    const [text, ownDefault] = withoutDefault(description)
    const absent = ownDefault ?? (schema._zod.def.type === 'boolean' ? 'false' : 'none')
    const sentences = [text, ...requirementsOn(schema).map((one) => withoutName(one, name))]
    const doc = jsDoc({ text: sentences.join(' '), ...(isOptional && { absent }), ...exampleOf(schema, example) }, '  ')
    return `${doc}  readonly ${name}${isOptional ? '?' : ''}: ${this.#typeOf(schema, place)}`
  }

  #typeOf(schema: z.core.$ZodTypes, place: Place): string {
    const { path, stem } = place
    const { def } = schema._zod
    switch (def.type) {
      case 'object':
        return this.nameOf(fieldOf(schema), path, NAMES[path] ?? `${stem}Props`)
      case 'array': {
        const item = this.#typeOf(fieldOf(def.element).schema, itemOf(place))
        return `readonly ${item.includes('|') ? `(${item})` : item}[]`
      }
      case 'record':
        return `Readonly<Record<string, ${this.#typeOf(fieldOf(def.valueType).schema, place)}>>`
      case 'enum':
        return Object.values(def.entries)
          .map((one) => `'${one}'`)
          .join(' | ')
      case 'union':
        return [...def.options.map((one) => this.#typeOf(fieldOf(one).schema, place)), ...valueWordsOf(schema)].join(
          ' | ',
        )
      case 'unknown':
        // Only `jsonObject` makes one.
        return 'Readonly<Record<string, unknown>>'
      case 'string':
        return ['string', ...valueWordsOf(schema)].join(' | ')
      case 'number':
      case 'boolean':
        return def.type
      default:
        throw new Error(`${path}: a schema of type ${def.type} has no type that people write`)
    }
  }
}

/** Classes whose values authors may give in the place of a text, by what the rule on the text says. */
const VALUE_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^must be a duration /, 'Duration'],
  [/^must be a time /, 'Date'],
  [/must be between \d+[KMG]i and /, 'Size'],
]

function valueWordsOf(schema: z.core.$ZodTypes): string[] {
  const messages = (schema._zod.def.checks ?? []).flatMap((check) => celRuleOf(check)?.message ?? [])
  return VALUE_WORDS.filter(([said]) => messages.some((one) => said.test(one))).map(([, word]) => word)
}

function itemOf({ path, stem }: Place): Place {
  return { path: `${path}[]`, stem: stem.replace(/s$/, '') }
}

/** Returns the place of a part. The disks of WorkspaceVmProps are of WorkspaceVmDiskProps. */
function stepped({ path, stem }: Place, step: string): Place {
  const word = step.replace('.', '')
  return { path: path + step, stem: stem + word.charAt(0).toUpperCase() + word.slice(1) }
}

function fieldOf(wrapped: z.core.$ZodType): Field {
  const { description, example } = (z.globalRegistry.get(wrapped) ?? {}) as { description?: string; example?: unknown }
  const { def } = (wrapped as z.core.$ZodTypes)._zod
  const inner = def.type === 'optional' ? def.innerType : def.type === 'pipe' ? def.in : undefined
  if (inner === undefined)
    return { schema: wrapped as z.core.$ZodTypes, isOptional: false, description: description ?? '', example }
  const below = fieldOf(inner)
  return {
    schema: below.schema,
    isOptional: def.type === 'optional' || below.isOptional,
    description: description ?? below.description,
    example: example ?? below.example,
  }
}

/** Splits off what holds without the field. */
function withoutDefault(description: string): readonly [text: string, absent: string | undefined] {
  const at = description.indexOf('Default: ')
  if (at === -1) return [description, undefined]
  return [description.slice(0, at).trim(), description.slice(at + 'Default: '.length).replace(/[.]$/, '')]
}

/** What a value must be: what the rules on it say, and its bounds. */
function requirementsOn(schema: z.core.$ZodTypes): string[] {
  const { def } = schema._zod
  if (def.type === 'object') return []
  const messages = (def.checks ?? []).map((check) => celRuleOf(check)?.message).filter((one) => one !== undefined)
  const texts = messages.map((one) => `${one}.`)
  const bounds = texts.some((one) => one.includes('at most') || one.includes(' between ')) ? [] : boundsOf(schema)
  return [...new Set([...texts, ...bounds, ...itemsOf(schema)])]
}

/** A message names its field, which stands below the comment. */
function withoutName(sentence: string, name: string): string {
  const words = sentence.startsWith(`${name} `) ? sentence.slice(name.length + 1) : sentence
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What is said of the items of a list of texts. Objects say it themselves. */
function itemsOf(schema: z.core.$ZodTypes): string[] {
  const { def } = schema._zod
  if (def.type !== 'array') return []
  const item = fieldOf(def.element)
  return item.schema._zod.def.type === 'object' ? [] : [`Each: ${item.description}`, ...requirementsOn(item.schema)]
}

function boundsOf(schema: z.core.$ZodTypes): string[] {
  const { def } = schema._zod
  const { least, most } = limitsOf(schema)
  if (def.type === 'number') return least === undefined || most === undefined ? [] : [`From ${least} to ${most}.`]
  if (most === undefined) return []
  return [def.type === 'array' ? `At most ${most} items.` : `At most ${most} characters.`]
}

/** Values of a number, items of a list, or characters of a text. */
function limitsOf(schema: z.core.$ZodTypes): { readonly least?: unknown; readonly most?: unknown } {
  const limits = (schema._zod.def.checks ?? []).map((check) => {
    const def = (check as z.core.$ZodChecks)._zod.def
    if (def.check === 'greater_than') return { least: def.value }
    if (def.check === 'less_than') return { most: def.value }
    return def.check === 'max_length' ? { most: def.maximum } : {}
  })
  return Object.assign({}, ...limits)
}

/** Lists are written with one item. */
function exampleOf(schema: z.core.$ZodTypes, own: unknown): { example?: string } {
  const { def } = schema._zod
  const item = def.type === 'array' ? fieldOf(def.element).example : undefined
  const example = own ?? (item === undefined ? undefined : [item])
  return example === undefined ? {} : { example: literal(example) }
}

/** Returns a value as an author writes it. */
function literal(value: unknown): string {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).map(
    ([name, one]) => `${/^[a-zA-Z_]\w*$/.test(name) ? name : literal(name)}: ${literal(one)}`,
  )
  return `{ ${fields.join(', ')} }`
}
