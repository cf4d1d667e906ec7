import { expect, it } from 'vitest'
import { SECOND } from '../../../test/prepared/runtime/times.ts'
import { IMAGE_NAMESPACE, MACHINE_ALONE, start, VM } from '../../../test/prepared/workspace/workspace-bench.ts'
import { viewReferringWorkspace } from './caches.ts'

const IMAGE = { namespace: IMAGE_NAMESPACE, name: 'demo-vmdi' }

it('a workspace refers to the images of its machines, in the namespace of the policy alone, and uses none of them', async () => {
  const bench = await start(MACHINE_ALONE)
  const { references } = bench
  const expected = { count: 1, names: ['Workspace/lab'], users: [] }
  expect([references?.cached(IMAGE), await references?.live(IMAGE, new AbortController().signal)]).toEqual([
    expected,
    expected,
  ])
  expect(references?.cached({ ...IMAGE, namespace: 'team' }).count).toBe(0)
  bench.setPolicy({ imageNamespace: 'team' })
  expect([references?.cached(IMAGE).count, references?.cached({ ...IMAGE, namespace: 'team' }).count]).toEqual([0, 1])
})

it('a workspace refers to the images of disks beside the root disk, too', async () => {
  const disks = [
    { name: 'tools', backingVMDiskImage: 'tools' },
    { name: 'data', size: '1Gi' },
  ]
  const { references } = await start({ vms: [{ ...VM, interfaces: [], disks }] })
  for (const name of ['tools', 'demo-vmdi']) {
    const image = { ...IMAGE, name }
    const expected = { count: 1, names: ['Workspace/lab'], users: [] }
    expect([references?.cached(image), await references?.live(image, new AbortController().signal)]).toEqual([
      expected,
      expected,
    ])
  }
})

it('tells of the images that are concerned when a workspace or the policy changes', async () => {
  const bench = await start(MACHINE_ALONE)
  const told: string[] = []
  bench.references?.onChange((key) => told.push(key))
  bench.change({ vms: [{ ...VM, interfaces: [], backingVMDiskImage: 'other' }] })
  await bench.clock.advance(SECOND)
  expect(told.splice(0).toSorted()).toEqual([`${IMAGE_NAMESPACE}/demo-vmdi`, `${IMAGE_NAMESPACE}/other`])
  bench.setPolicy({ imageNamespace: 'team' })
  expect(told.splice(0)).toEqual([`${IMAGE_NAMESPACE}/other`, 'team/other'])
  bench.deleteWorkspace()
  await bench.clock.advance(SECOND)
  expect(told).toEqual(['team/other'])
})

it('what is kept of a large workspace says whether it is switched off, which restores of its machines go by', () => {
  const metadata = { name: 'lab', uid: 'uid-lab' }
  const spec = { vms: [], description: 'large', powerState: 'Halted' }
  const large = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata, spec }
  expect(viewReferringWorkspace(large).spec).toEqual({ vms: [], powerState: 'Halted' })
})
