import {
  POLICY_KEYS,
  POLICY_NAME,
  POLICY_SCHEMA,
  policyDefaultText,
  REASON_HELP,
  type Resource,
  resourceSchema,
  type StructuralSchema,
} from '@open-terrain/constructs'

/** The API reference in Markdown: fields, rules, columns, reasons with their remedies, and the policy's keys. */
export function apiReference(resources: readonly Resource[]): string {
  const sections = [
    '# API reference',
    ...resources.flatMap(kindSection),
    '## Reasons',
    'In conditions, in `status.attempts` and in Events of a `VMDiskImage`.',
    table(['Reason', 'Meaning', 'What to do'], reasonRows()),
    '## Policy',
    `ConfigMap \`${POLICY_NAME}\` in the namespace of the operator. Every value is a text. A change is in force at once; a bad value ` +
      'keeps the last good one of its key and is reported as a Warning Event; a key that is left out has its default.',
    table(['Key', 'Default', 'Meaning'], policyRows()),
  ]
  return `${sections.join('\n\n')}\n`
}

function kindSection(resource: Resource): string[] {
  const { spec, status } = resourceSchema(resource).properties as Record<'spec' | 'status', StructuralSchema>
  const rows = resource.printerColumns.map(({ name, jsonPath, description, priority }) => [
    priority === undefined ? name : `${name} (wide)`,
    code(jsonPath),
    description,
  ])
  return [
    `## ${resource.kind}`,
    resource.description,
    `\`${resource.apiVersion}\`, ${resource.namespaced ? 'namespaced' : 'cluster-wide'}. Short name: \`${resource.shortNames.join('`, `')}\`; ` +
      `category: \`${resource.categories.join('`, `')}\`.`,
    '### spec',
    table(['Field', 'Type', 'Description'], fieldRows(spec, 'spec')),
    'Rules:',
    rules(spec, 'spec')
      .map((message) => `- ${plain(message)}`)
      .join('\n'),
    '### status',
    `${status.description}`,
    table(['Field', 'Type', 'Description'], fieldRows(status, 'status')),
    '### Columns of `kubectl get`',
    table(['Column', 'Field', 'Description'], rows),
  ]
}

function fieldRows(schema: StructuralSchema, path: string): string[][] {
  const required = new Set(schema.required ?? [])
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const own = `${path}.${name}`
    const note = required.has(name) ? ' Required.' : ''
    const row = [code(own), typeText(child), `${child.description}${note}`]
    const nested = child.type === 'array' ? fieldRows(child.items ?? {}, `${own}[]`) : fieldRows(child, own)
    return [row, ...nested]
  })
}

function typeText(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string'
  if (schema.type === 'array') return `list of ${schema.items?.type ?? 'values'}, at most ${schema.maxItems}`
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map(code).join(', ')}`
  if (schema.format === 'date-time') return 'date-time'
  const limit = schema.maxLength === undefined ? '' : `, at most ${schema.maxLength} characters`
  return `${schema.type}${limit}`
}

function rules(schema: StructuralSchema, path: string): string[] {
  const own = (schema['x-kubernetes-validations'] ?? []).map(({ message }) => message)
  const nested = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => rules(child, `${path}.${name}`))
  return [...own, ...nested]
}

function reasonRows(): string[][] {
  return Object.entries(REASON_HELP).map(([reason, { meaning, remedy }]) => [code(reason), meaning, remedy])
}

function policyRows(): string[][] {
  return POLICY_KEYS.map((name) => {
    const text = policyDefaultText(name)
    return [code(name), text === undefined ? 'none' : code(text), POLICY_SCHEMA[name].meaning]
  })
}

/** Texts of the API are no Markdown: keep `<host>` from being read as a tag, and a bar from ending a cell. */
function plain(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('|', '\\|')
}

function code(text: string): string {
  return `\`${text}\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(plain).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
