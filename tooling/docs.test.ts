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
import { parseAllDocuments } from 'yaml'

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

it.each(files)('the links of %s lead somewhere', (file) => {
  const links = [...(texts.get(file) ?? '').replace(FENCED, '').matchAll(LINK)].map(
    ([, link, source = '']) => link ?? source,
  )
  expect(links.filter((link) => isBroken(file, link))).toEqual([])
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
})
