import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goVersions } from '../../sandbox/node/go-commands.ts'
import { nextVersion, parseEntry, readEntries } from './change-entries.ts'
import { notesOf, sectionOf, versionsOf, withSection } from './changelog.ts'
import { prepareRelease } from './prepare.ts'
import { namesIn, upgradeNotes } from './upgrade-notes.ts'
import { versionHere, versionPlaces } from './versions.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const NOTES = upgradeNotes(read('docs/installation.md'))
const ENTRIES = readEntries(join(ROOT, 'changes'))

/** Names that notes mention, and that are gone, or are of others. */
const ELSEWHERE: readonly string[] = [
  'pulumi.com/waitFor',
  'pulumi.com/skipAwait',
  'ENTRYPOINT',
  'ENV',
  'plain_text_passwd',
]

describe('the version', () => {
  it('is the same at every place', () => {
    const places = versionPlaces()
    expect(new Set(places.map(({ file }) => file)).size).toBeGreaterThan(10)
    expect(places.filter(({ version }) => version !== versionHere())).toEqual([])
  })

  it.each<[string, readonly Parameters<typeof nextVersion>[1][number]['kind'][], string]>([
    ['0.1.4', ['fixed', 'changed', 'security'], '0.1.5'],
    ['0.1.4', ['fixed', 'added'], '0.2.0'],
    ['0.1.4', ['breaking'], '0.2.0'],
    ['1.1.4', ['fixed', 'removed'], '2.0.0'],
    ['1.1.4', ['deprecated'], '1.2.0'],
    ['1.1.4', ['fixed'], '1.1.5'],
  ])('after %s, with changes that are %j, is %s', (version, kinds, next) => {
    const entries = kinds.map((kind) => ({ kind }))
    expect(nextVersion(version, entries)).toBe(next)
  })
})

describe('a change', () => {
  it.each<[string, string, string]>([
    ['no kind', 'A change.', 'kind is undefined: write one of breaking, security, added'],
    ['another kind', '---\nkind: new\n---\nA change.', 'kind is new'],
    ['a key that is not known', '---\nkind: fixed\nscope: cli\n---\nA change.', 'scope is not known'],
    ['a break without a row', '---\nkind: breaking\n---\nA change.', 'a change that is breaking has upgrade'],
    ['a row without a break', '---\nkind: fixed\nupgrade: A row\n---\nA change.', 'and no other change has'],
    ['no text', '---\nkind: fixed\n---\n', 'say what changes'],
    ['a link', '---\nkind: fixed\n---\nSee [this](docs/cli.md).', 'leave out headings and links'],
  ])('is refused with %s', (_what, content, message) => {
    expect(() => parseEntry('one.md', content)).toThrow(`changes/one.md: `)
    expect(() => parseEntry('one.md', content)).toThrow(message)
  })

  it('that is breaking names a row of the table of upgrades, which is of this version', () => {
    const current = NOTES.filter(({ after }) => after === versionHere()).map(({ what }) => what)
    const rows = ENTRIES.flatMap(({ upgrade }) => upgrade ?? [])
    expect(rows.filter((row) => !current.some((what) => what.startsWith(row)))).toEqual([])
  })
})

describe('the table of upgrades', () => {
  it('is of versions that the changelog has, each with what to do', () => {
    const versions = versionsOf(read('CHANGELOG.md'))
    expect(versions).toContain(versionHere())
    expect(NOTES.length).toBeGreaterThan(0)
    expect(NOTES.filter(({ after, toDo }) => !versions.includes(after) || toDo === '')).toEqual([])
  })

  it('names fields, keys, conditions and annotations that there are', () => {
    const product = globSync(['{constructs,operator,infra,cli}/**/*.ts', 'Pulumi*.yaml'], { cwd: ROOT })
      .filter((file) => !/\.(?:test|fixtures)\.ts$|node_modules|\/dist\//.test(file))
      .map((file) => `${file}\n${read(file)}`)
      .join('\n')
    const isThere = (name: string) =>
      ELSEWHERE.includes(name) || new RegExp(`\\b${name.replaceAll('.', '[.]')}\\b`).test(product)
    const lost = NOTES.flatMap((note) => namesIn(note)).filter((name) => !isThere(name))
    expect(lost).toEqual([])
    expect(isThere('noSuchField')).toBe(false)
  })
})

describe('the table of what it works with', () => {
  it('says of each system the version that the tests run, as the page about installing does', async () => {
    const pins = await goVersions([
      'kubernetes',
      'cdi',
      'containerd',
      'multus',
      'csi-snapshotter',
      'kubevirt-cloud-init',
    ])
    const pinned: Readonly<Record<string, string | undefined>> = {
      Kubernetes: pins['kubernetes'],
      CDI: pins['cdi'],
      KubeVirt: pins['kubevirt-cloud-init'],
      'external-snapshotter': pins['csi-snapshotter'],
      Multus: pins['multus'],
      containerd: pins['containerd'],
    }
    const [releases, installing] = [read('docs/releases.md'), read('docs/installation.md')]
    for (const [system, version = ''] of Object.entries(pinned)) {
      const plain = version.replace(/^v/, '')
      expect(releases).toMatch(new RegExp(`^\\| ${system} +\\|[^|]+\\| ${plain.replaceAll('.', '[.]')} +\\|`, 'm'))
      const [, said = ''] = new RegExp(`^\\| ${system} +\\| (\\S+) +\\|`, 'm').exec(installing) ?? []
      expect([system, said !== '' && plain.startsWith(said)]).toEqual([system, true])
    }
    const least = /^- Kubernetes (\S+) or newer/m.exec(installing)?.[1]
    expect(releases).toMatch(new RegExp(`^\\| Kubernetes +\\| ${least} +\\|`, 'm'))
  })
})

describe('the text of a release', () => {
  const entries = [
    { file: 'a.md', kind: 'fixed', upgrade: undefined, text: 'One is repaired.' },
    { file: 'b.md', kind: 'added', upgrade: undefined, text: 'Two is new.' },
  ] as const
  const notes = [{ after: '0.1.0', what: 'A [field](images.md#a) is gone', toDo: 'Nothing' }]

  it('has what to do before an upgrade first, then changes by kind, and stands before those of earlier releases', async () => {
    const section = sectionOf({ version: '0.2.0', date: '2030-01-02', entries, notes })
    const changelog = await withSection(
      '# Changelog\n\nAbout.\n\n## 0.1.0\n\nFirst.\n',
      section,
      join(ROOT, 'CHANGELOG.md'),
    )
    expect(changelog).toBe(
      '# Changelog\n\nAbout.\n\n## 0.2.0 (2030-01-02)\n\n### Before you upgrade\n\n- A field is gone. **To do:** Nothing.\n\n' +
        '### Added\n\n- Two is new.\n\n### Fixed\n\n- One is repaired.\n\n## 0.1.0\n\nFirst.\n',
    )
    expect(versionsOf(changelog)).toEqual(['0.2.0', '0.1.0'])
    expect(notesOf(changelog, '0.2.0')).toMatch(/^### Before you upgrade.*repaired\.$/s)
    expect(notesOf(changelog, '0.3.0')).toBeUndefined()
  })
})

describe('the tree of a release', () => {
  let copy = ''
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'open-terrain-release-tree-'))
    const files = [
      'package*.json',
      '*/package.json',
      'infra/policy-pack/package.json',
      'Dockerfile',
      '*.md',
      '.prettierrc.json',
      'docs/**/*.md',
      'changes/*.md',
    ]
    for (const file of globSync(files, { cwd: ROOT }).filter((one) => !one.startsWith('node_modules'))) {
      mkdirSync(dirname(join(copy, file)), { recursive: true })
      cpSync(join(ROOT, file), join(copy, file))
    }
    // After a release there is none.
    writeFileSync(join(copy, 'changes/one.md'), '---\nkind: fixed\n---\n\nOne is repaired.\n')
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it('is refused for a version that is not newer', async () => {
    await expect(prepareRelease({ root: copy, date: '2030-01-02', version: versionHere() })).rejects.toThrow(
      'is not newer than',
    )
    await expect(prepareRelease({ root: copy, date: '2030-01-02', version: 'next' })).rejects.toThrow(
      'next is no version',
    )
  })

  it('has its version at every place, its text with the row of every break, and no changes that were released', async () => {
    const before = versionHere(copy)
    const version = await prepareRelease({ root: copy, date: '2030-01-02' })
    expect(version).toBe(nextVersion(before, [...ENTRIES, { kind: 'fixed' }]))
    expect(versionPlaces(copy).filter((place) => place.version !== version)).toEqual([])
    expect(versionPlaces(copy)).toHaveLength(versionPlaces().length)
    expect(readdirSync(join(copy, 'changes'))).toEqual(['README.md'])
    const text = notesOf(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8'), version) ?? ''
    expect(text.match(/\*\*To\s+do:\*\*/g)).toHaveLength(NOTES.filter(({ after }) => after === before).length)
    await expect(prepareRelease({ root: copy, date: '2030-01-02' })).rejects.toThrow('there is nothing to release')
  })
})
