import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`
/** Packages that npm would install besides these two. */
const INSTALLED = ['@pulumi', 'cdk8s', 'cdk8s-plus-29', 'constructs', 'yaml', 'zod']

const PROGRAM = `
import { OpenTerrain, parseConfig } from '@open-terrain/infra'
import pulumi from '@pulumi/pulumi'

const types = []
const newResource = ({ type, name, inputs }) => {
  types.push(type)
  return { id: name, state: inputs }
}
await pulumi.runtime.setMocks({ call: () => ({}), newResource })
const { image } = parseConfig({ image: '${IMAGE}' })
new OpenTerrain('open-terrain', { image })
await pulumi.runtime.disconnect()
console.log(JSON.stringify(types.filter((type) => type.startsWith('kubernetes:'))))
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-infra-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

it('is a package of JavaScript from which other programs install Open Terrain', () => {
  execFileSync(process.execPath, [join(ROOT, 'infra/pack.ts')])
  mkdirSync(join(folder, 'node_modules/@open-terrain'), { recursive: true })
  for (const name of ['constructs', 'infra'])
    cpSync(join(ROOT, name, 'dist'), join(folder, 'node_modules/@open-terrain', name), { recursive: true })
  for (const name of INSTALLED) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  const program = join(folder, 'program.mjs')
  writeFileSync(program, PROGRAM)
  // Without Node's type stripping: files in a node_modules folder must be JavaScript.
  const types = JSON.parse(
    execFileSync(process.execPath, ['--no-strip-types', program], { encoding: 'utf8' }),
  ) as string[]
  const installation = renderInstallation({ image: IMAGE })
  expect(types.length).toBe(INSTALLATION_PARTS.flatMap((part) => installation[part]).length)
  expect(types).toContain('kubernetes:apps/v1:Deployment')
})
