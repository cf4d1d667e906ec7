import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { foreignCrds } from '../../sandbox/control-plane/foreign-crds.ts'
import { missingPackages } from '../../tooling/complete-lockfile.mjs'
import { silentRules } from '../../tooling/dependency-canary.ts'
import { silentLines } from '../../tooling/purity-canary.ts'

const ROOT = join(import.meta.dirname, '../..')

it('has a lockfile that names the packages of every platform', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  expect(missingPackages(lock)).toEqual({})
})

it('has a lockfile with the hash of every package that npm downloads', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { link?: boolean; inBundle?: boolean; integrity?: string }>
  }
  const downloaded = Object.entries(lock.packages).filter(([path, { link, inBundle }]) => {
    return path.includes('node_modules/') && link !== true && inBundle !== true
  })
  expect(downloaded.length).toBeGreaterThan(100)
  expect(downloaded.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual([])
})

it('has in CI every tool without which a test fails there', () => {
  const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const texts = tests.map((file) => readFileSync(join(ROOT, 'test', file), 'utf8'))
  const tools = texts.flatMap((text) => [...text.matchAll(/\bisThere\('([a-z]+)', \[/g)].map(([, tool = '']) => tool))
  expect(tools).toContain('kubectl')
  // The image of the job has npm.
  const [, steps = ''] = readFileSync(join(ROOT, '.github/workflows/ci.yml'), 'utf8').split('steps:')
  expect(tools.filter((tool) => tool !== 'npm' && !steps.includes(tool))).toEqual([])
})

it('reports every breach of a dependency rule', () => {
  expect(silentRules()).toEqual([])
})

it('reports everything that is impure in a decision', () => {
  expect(silentLines()).toEqual([])
})

it('has small CRDs of its own for what it uses of CDI, snapshots, KubeVirt and Multus', async () => {
  const { crds } = await foreignCrds({ only: 'own' })
  expect(crds.map(({ metadata }) => metadata.name)).toEqual([
    'datavolumes.cdi.kubevirt.io',
    'datasources.cdi.kubevirt.io',
    'storageprofiles.cdi.kubevirt.io',
    'virtualmachinesnapshots.snapshot.kubevirt.io',
    'virtualmachinerestores.snapshot.kubevirt.io',
    'virtualmachines.kubevirt.io',
    'virtualmachineinstances.kubevirt.io',
    'network-attachment-definitions.k8s.cni.cncf.io',
    'volumesnapshots.snapshot.storage.k8s.io',
    'volumesnapshotclasses.snapshot.storage.k8s.io',
  ])
})
