import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_SYNC_REASONS, POLICY_KEYS, REASONS, VIRTUAL_MACHINE_REASONS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { authoringPages } from './authoring-reference.ts'
import { findDrift } from './drift.ts'
import { generatedFiles, generatedSources } from './generated-files.ts'

const generated = generatedFiles()

describe('generatedFiles', () => {
  it('are what is committed', () => {
    for (const [path, content] of generated) {
      expect(readFileSync(join(import.meta.dirname, 'generated', path), 'utf8')).toBe(content)
    }
  })

  it('are the sources of constructs/ that follow from its schemas', () => {
    for (const [path, content] of generatedSources())
      expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toBe(content)
  })

  it('hold CRDs of less than 200 KB each', () => {
    const sizes = [...generated].filter(([path]) => path.startsWith('crds/')).map(([, text]) => Buffer.byteLength(text))
    expect(sizes.length).toBeGreaterThan(3)
    expect(Math.max(...sizes)).toBeLessThan(200_000)
  })

  it('hold the CRD as valid YAML with its table and names', () => {
    const crd = parse(generated.get('crds/pelotech.ot_vmdiskimages.yaml') ?? '')
    expect(crd.metadata.name).toBe('vmdiskimages.pelotech.ot')
    expect(crd.spec.names).toMatchObject({ shortNames: ['vmdi'], categories: ['ot'], listKind: 'VMDiskImageList' })
    const [version] = crd.spec.versions
    expect(version.subresources).toEqual({ status: {} })
    expect(version.additionalPrinterColumns.map(({ name }: { name: string }) => name)).toEqual([
      'Phase',
      'Reason',
      'Queue',
      'AsOf',
      'Progress',
      'Attempt',
      'Refs',
      'Age',
      'Message',
      'Machines',
      'NextRetry',
      'SpecName',
      'Size',
      'URL',
    ])
  })

  it('hold the CRD of the virtual machine with its names, its table and the rule on its name', () => {
    const crd = parse(generated.get('crds/pelotech.ot_virtualmachines.yaml') ?? '')
    expect(crd.metadata.name).toBe('virtualmachines.pelotech.ot')
    expect(crd.spec.names).toMatchObject({ shortNames: ['otvm'], categories: ['ot'], listKind: 'VirtualMachineList' })
    const [{ schema, additionalPrinterColumns }] = crd.spec.versions
    const columns = additionalPrinterColumns.map(({ name }: { name: string }) => name)
    expect(columns).toEqual([
      'Phase',
      'Ready',
      'Reason',
      'Image',
      'Queue',
      'AsOf',
      'Age',
      'Node',
      'IP',
      'Warnings',
      'Message',
    ])
    expect(schema.openAPIV3Schema['x-kubernetes-validations']).toMatchObject([{ fieldPath: '.metadata.name' }])
  })

  it('hold the CRD of the DataSync with its names, its table, and the name by which vms are merged', () => {
    const crd = parse(generated.get('crds/pelotech.ot_datasyncs.yaml') ?? '')
    expect(crd.spec.names).toMatchObject({ plural: 'datasyncs', shortNames: ['dsync'], categories: ['ot'] })
    const [{ schema, additionalPrinterColumns }] = crd.spec.versions
    const columns = additionalPrinterColumns.map(({ name }: { name: string }) => name)
    expect(columns).toEqual(['Phase', 'Reason', 'Images', 'Progress', 'Age', 'Message', 'Workspace', 'Version'])
    expect(schema.openAPIV3Schema.properties.spec.properties.vms).toMatchObject({
      maxItems: 100,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    })
  })

  it('list every reason and every key of the policy', () => {
    const reference = generated.get('api.md') ?? ''
    const reasons = [REASONS, VIRTUAL_MACHINE_REASONS, DATA_SYNC_REASONS].flatMap((kind) => Object.values(kind))
    for (const word of [...reasons, ...POLICY_KEYS]) expect(reference).toContain(`| \`${word}\` |`)
  })
})

describe('the reference of authors', () => {
  const pages = authoringPages()
  const reference = [...pages.values()].join('\n')
  const headings = new Set([...reference.matchAll(/^##? (.+)$/gm)].map(([, name]) => name))

  it('is what is committed', () => {
    for (const [name, content] of pages)
      expect(readFileSync(join(import.meta.dirname, '../docs/constructs', name), 'utf8')).toBe(content)
  })

  it('has a page for each class, with an example for each of those that authors make', () => {
    const classes = /^\| Classes \| (.*) \|$/m.exec(pages.get('README.md') ?? '')?.[1] ?? ''
    const names = [...classes.matchAll(/\[(\w+)\]\((\w+[.]md)\)/g)]
    expect(names.length).toBeGreaterThan(10)
    const shown = names.filter(([, name = '']) => !['AuthoredObject', 'LabMember'].includes(name))
    expect(shown.filter(([, , file = '']) => !pages.get(file)?.includes('```ts\n'))).toEqual([])
  })

  it('has every word that is exported for authors, with the text of its docstring', () => {
    const door = readFileSync(join(import.meta.dirname, '../constructs/index.ts'), 'utf8')
    const lists = [...door.matchAll(/export (?:type )?\{([^}]*)\} from '\.\/authoring\//g)]
    const names = lists.flatMap(([, list = '']) =>
      [...list.matchAll(/(?:type )?(\w+)(?:,|\s*$)/g)].map(([, name]) => name),
    )
    expect(names.length).toBeGreaterThan(30)
    expect(names.filter((name) => !headings.has(name))).toEqual([])
    expect(reference).toContain('| `addVolume(name: string, props: LabVolumeProps): LabVolume` | Adds a volume, which')
  })

  it('has a text for every member of a class, and nothing that is not for authors', () => {
    const rows = [...reference.matchAll(/^\| (`.+`) \| (.*) \|$/gm)]
    expect(rows.length).toBeGreaterThan(100)
    expect(reference).not.toMatch(/\b(imageTexts|toSpec|toJson|occupy|writtenSpec|placeOf)\b/)
  })
})

describe('findDrift', () => {
  it('names files that differ, are missing or are left over', () => {
    const wanted = new Map([
      ['same', '1'],
      ['other', '1'],
      ['new', '1'],
    ])
    const present = new Map([
      ['same', '1'],
      ['other', '2'],
      ['old', '1'],
    ])
    expect(findDrift(wanted, present)).toEqual([
      { path: 'other', problem: 'differs' },
      { path: 'new', problem: 'is missing' },
      { path: 'old', problem: 'is not generated any more' },
    ])
  })
})
