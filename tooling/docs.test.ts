import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import {
  parseDataSyncSpec,
  parseVirtualMachineSpec,
  parseVMDiskImageSpec,
  parseWorkspaceSnapshotSpec,
  parseWorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const FENCED = /^ *```(\w*)[^\n]*\n(.*?)^ *```$/gms
const LINK = /\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g

const PARSERS: Readonly<Record<string, (spec: unknown) => { readonly ok: boolean }>> = {
  VMDiskImage: parseVMDiskImageSpec,
  DataSync: parseDataSyncSpec,
  VirtualMachine: parseVirtualMachineSpec,
  Workspace: parseWorkspaceSpec,
  WorkspaceSnapshot: parseWorkspaceSnapshotSpec,
}

const files = globSync(
  ['*.md', '{cli,constructs,infra}/*.md', 'docs/**/*.md', 'crds-gen/generated/*.md', 'examples/**/*.md'],
  { cwd: ROOT },
)
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))

/** The part after `#` of links to headings, as GitHub makes it. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of text.replace(FENCED, '').matchAll(/^#+ (.+)$/gm)) {
    const words = heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '')
    const anchor = words.replaceAll(' ', '-')
    const same = [...anchors].filter((one) => one.replace(/-\d+$/, '') === anchor).length
    anchors.add(same === 0 ? anchor : `${anchor}-${same}`)
  }
  return anchors
}

function isBroken(file: string, link: string): boolean {
  if (/^[a-z]+:/.test(link)) return false
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(ROOT, target))) return true
  const text = texts.get(target)
  return anchor !== undefined && text !== undefined && !anchorsOf(text).has(anchor)
}

/** What is read of a schema of OpenAPI. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }]
  }
}

const SCHEMAS: ReadonlyMap<string, Schema | undefined> = new Map(
  globSync('crds-gen/generated/crds/*.yaml', { cwd: ROOT }).map((file) => {
    const { spec } = parse(readFileSync(join(ROOT, file), 'utf8')) as Crd
    return [spec.names.kind, spec.versions[0].schema.openAPIV3Schema.properties?.['spec']]
  }),
)

/** Returns fields that a schema does not have, which an API server drops. */
function unknownIn(schema: Schema | undefined, value: unknown, path: string): string[] {
  if (schema === undefined || value === null || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((one, at) => unknownIn(schema.items, one, `${path}[${at}]`))
  if (schema.properties === undefined) return []
  return Object.entries(value).flatMap(([name, inside]) => {
    const field = schema.properties?.[name]
    if (field !== undefined) return unknownIn(field, inside, `${path}.${name}`)
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [`${path}.${name}`]
  })
}

it.each(files)('the links of %s lead somewhere', (file) => {
  const links = [...(texts.get(file) ?? '').replace(FENCED, '').matchAll(LINK)].map(
    ([, link, source = '']) => link ?? source,
  )
  expect(links.filter((link) => isBroken(file, link))).toEqual([])
})

it('a field that no schema has is noticed', () => {
  expect(unknownIn(SCHEMAS.get('Workspace'), { vms: [{ name: 'a', cpus: 1 }] }, 'spec')).toEqual(['spec.vms[0].cpus'])
})

it('the objects of ours that the docs show are accepted', () => {
  const objects = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(FENCED)]
      .filter(([, language]) => language === 'yaml')
      .flatMap(([, , yaml = '']) => parseAllDocuments(yaml))
      .map((document) => document.toJS() as { kind?: string; spec?: unknown } | null)
      .map((object) => ({ file, kind: object?.kind ?? '', spec: object?.spec })),
  )
  const ours = objects.filter(({ kind, spec }) => kind in PARSERS && spec !== undefined)
  expect(new Set(ours.map(({ kind }) => kind))).toEqual(new Set(Object.keys(PARSERS)))
  expect(ours.filter(({ kind, spec }) => !PARSERS[kind]?.(spec).ok)).toEqual([])
  const unknown = ours.flatMap(({ file, kind, spec }) =>
    unknownIn(SCHEMAS.get(kind), spec, 'spec').map((path) => `${file}: ${kind} has no ${path}`),
  )
  expect(unknown).toEqual([])
})
