import {
  type ConditionRule,
  DATA_SYNC_REASON_HELP,
  dataSync,
  OVERRIDE_ROOTS,
  type OverrideNode,
  POLICY_KEYS,
  POLICY_NAME,
  POLICY_SCHEMA,
  policyDefaultText,
  REASON_HELP,
  type ReasonHelp,
  type Resource,
  resourceSchema,
  type StructuralSchema,
  VIRTUAL_MACHINE_REASON_HELP,
  virtualMachine,
  vmDiskImage,
  WORKSPACE_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASON_HELP,
  workspace,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'

const REASONS_BY_KIND: readonly (readonly [Resource, string, Readonly<Record<string, ReasonHelp>>])[] = [
  [vmDiskImage, 'In conditions, in `status.attempts` and in Events.', REASON_HELP],
  [virtualMachine, 'In conditions and in Events.', VIRTUAL_MACHINE_REASON_HELP],
  [
    dataSync,
    'In conditions, in `status.images` beside the reasons of the VMDiskImage, and in Events.',
    DATA_SYNC_REASON_HELP,
  ],
  [
    workspace,
    'In conditions, in `status.components` beside the reasons of machines and images, and in Events.',
    WORKSPACE_REASON_HELP,
  ],
  [workspaceSnapshot, 'In conditions, in `status.members` and in Events.', WORKSPACE_SNAPSHOT_REASON_HELP],
]

/** Returns the API reference in Markdown: fields, rules, columns, reasons with their remedies, and the keys of the policy. */
export function apiReference(resources: readonly Resource[]): string {
  const sections = [
    '# API reference',
    ...resources.flatMap(kindSection),
    '## Reasons',
    ...REASONS_BY_KIND.flatMap(([resource, places, help]) => [
      `### ${resource.kind}`,
      places,
      table(['Reason', 'Meaning', 'What to do'], reasonRows(help)),
    ]),
    '## Policy',
    `ConfigMap \`${POLICY_NAME}\` in the namespace of the operator. Every value is a text. A change is in force at once; a bad value ` +
      'keeps the last good one of its key and is reported as a Warning Event; a key that is left out has its default.',
    table(['Key', 'Default', 'Meaning'], policyRows()),
    '## Overrides',
    'What `overrides` may set. The policy key `allowedOverrides` lists paths of the first table, or paths above them. Paths of the second table are refused, whatever ' +
      'the policy says, with all below them. So is every path that is in neither table. Items of lists are left out of paths.',
    table(['Can be allowed', 'What it is'], overrideRows('allowed')),
    table(['Never', 'Because'], overrideRows('never')),
  ]
  return `${sections.join('\n\n')}\n`
}

function kindSection(resource: Resource): string[] {
  const schema = resourceSchema(resource)
  const { spec, status } = schema.properties as Record<'spec' | 'status', StructuralSchema>
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
    [...ownRules(schema), ...new Set(rules(spec))].map((message) => `- ${plain(message)}`).join('\n'),
    '### status',
    `${status.description}`,
    table(['Field', 'Type', 'Description'], fieldRows(status, 'status')),
    '### Conditions',
    table(['Condition', 'Meaning', 'Present', '`ot why` tells of', 'Reasons'], conditionRows(resource.conditions)),
    '### Columns of `kubectl get`',
    table(['Column', 'Field', 'Description'], rows),
  ]
}

const PRESENT: Readonly<Record<ConditionRule['presence'], string>> = {
  always: 'always',
  passing: 'while there is something to say',
  lasting: 'once True, until it is taken away',
}
const TOLD: Readonly<Record<ConditionRule['told'], string>> = { whenTrue: 'True', whenFalse: 'False', never: '' }

function conditionRows(conditions: Resource['conditions']): string[][] {
  return Object.entries(conditions).map(([type, { means, presence, told, reasons }]) => [
    code(type),
    means,
    PRESENT[presence],
    TOLD[told],
    reasons === undefined ? 'any' : reasons.map(code).join(', '),
  ])
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

/** Returns the messages of the rules on a field and on all fields below it. */
function rules(schema: StructuralSchema): string[] {
  const below = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])]
  return [...ownRules(schema), ...below.flatMap(rules)]
}

function ownRules(schema: StructuralSchema): string[] {
  return (schema['x-kubernetes-validations'] ?? []).map(({ message }) => message)
}

function reasonRows(help: Readonly<Record<string, ReasonHelp>>): string[][] {
  return Object.entries(help).map(([reason, { meaning, remedy }]) => [code(reason), meaning, remedy])
}

function policyRows(): string[][] {
  return POLICY_KEYS.map((name) => {
    const text = policyDefaultText(name)
    return [code(name), text === undefined ? 'none' : code(text), POLICY_SCHEMA[name].meaning]
  })
}

const NATURES: Readonly<Record<Exclude<OverrideNode['kind'], 'never' | 'number'>, string>> = {
  value: 'text, number or boolean',
  switch: 'true',
  quantity: 'quantity',
  fields: 'object',
  list: 'list, replaced as a whole',
  items: 'list',
}

/** Returns a row for each path at which a verdict ends. */
function overrideRows(verdict: 'allowed' | 'never'): string[][] {
  return Object.entries(OVERRIDE_ROOTS).flatMap(([root, node]) =>
    verdictsBelow(node, '').flatMap(([path, one]) => {
      if ((one.kind === 'never') !== (verdict === 'never')) return []
      return [[code(`${root}:${path}`), natureOf(one)]]
    }),
  )
}

function natureOf(node: OverrideNode): string {
  if (node.kind === 'never') return node.because
  return node.kind === 'number' ? `number from ${node.least} to ${node.most}` : NATURES[node.kind]
}

function verdictsBelow(node: OverrideNode, path: string): (readonly [string, OverrideNode])[] {
  if (node.kind === 'items') return verdictsBelow(node.item, path)
  const fields = node.kind === 'fields' ? Object.entries(node.fields) : []
  if (fields.length === 0) return [[path, node]]
  return fields.flatMap(([name, one]) => verdictsBelow(one, path === '' ? name : `${path}.${name}`))
}

/** Escapes texts of the API, which are not Markdown: `<host>` must not become a tag, and a bar must not end a cell. */
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
