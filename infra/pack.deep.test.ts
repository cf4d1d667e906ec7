import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`

const PROGRAM = `
import { render, Workspace } from '@open-terrain/constructs'
import { OpenTerrain, parseConfig, Rendered } from '@open-terrain/infra'
import pulumi from '@pulumi/pulumi'

const types = []
const newResource = ({ type, name, inputs }) => {
  types.push(type)
  return { id: name, state: inputs }
}
await pulumi.runtime.setMocks({ call: () => ({}), newResource })
const { image } = parseConfig({ image: '${IMAGE}' })
new OpenTerrain('open-terrain', { image })
new Rendered('lab', {
  objects: render((chart) => {
    new Workspace(chart, 'lab', { metadata: { name: 'lab' }, networks: [{ name: 'control', cidr: '10.10.0.0/24' }] })
  }),
})
await pulumi.runtime.disconnect()
console.log(JSON.stringify(types.filter((type) => type.startsWith('kubernetes:'))))
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-infra-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: folder, encoding: 'utf8' })
}

it('is a package that npm installs into an empty folder, from which other programs install Open Terrain', () => {
  execFileSync(process.execPath, [join(ROOT, 'infra/pack.ts')])
  const [constructs, infra] = ['constructs', 'infra'].map((name) => {
    const [{ filename }] = JSON.parse(npm('pack', '--json', join(ROOT, name, 'dist'))) as [{ filename: string }]
    return join(folder, filename)
  }) as [string, string]
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }))
  for (const [name, oldest] of [
    ['constructs', '>=22.18'],
    // The Kubernetes client asks for it.
    ['infra', '>=22.19'],
  ] as const) {
    const { engines } = JSON.parse(readFileSync(join(ROOT, name, 'dist/package.json'), 'utf8')) as { engines: unknown }
    expect(engines).toEqual({ node: oldest })
  }
  // As the example of a team has people type, with files in the place of the names. Plugins are downloaded by nobody here.
  npm('install', '--ignore-scripts', '--no-audit', '--no-fund', infra, constructs, 'cdk8s', 'constructs')
  const program = join(folder, 'program.mjs')
  writeFileSync(program, PROGRAM)
  // Without Node's type stripping: files in a node_modules folder must be JavaScript.
  const types = JSON.parse(
    execFileSync(process.execPath, ['--no-strip-types', program], { cwd: folder, encoding: 'utf8' }),
  ) as string[]
  const installation = renderInstallation({ image: IMAGE })
  expect(types.length).toBe(INSTALLATION_PARTS.flatMap((part) => installation[part]).length + 1)
  expect(types).toEqual(
    expect.arrayContaining(['kubernetes:apps/v1:Deployment', 'kubernetes:pelotech.ot/v1alpha1:Workspace']),
  )
})
