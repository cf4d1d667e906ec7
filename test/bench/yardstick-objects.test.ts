import { renderDataVolume } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { DATA_VOLUME, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster } from '../prepared/sandbox/simulated-cluster.ts'
import { dataVolumeLike, ledgerLike, YARDSTICK } from './yardstick-objects.ts'

const sizeOf = (object: object) => JSON.stringify(object).length

it('dataVolumeLike is about as large as a DataVolume of the operator', () => {
  const real = renderDataVolume({
    image: { name: 'image-17', namespace: 'images-0', uid: crypto.randomUUID() },
    name: 'image-17-0123abcd',
    revision: '0123abcd',
    attempt: 1,
    source: { type: 'http', url: 'https://images.example.com/images-0/image-17.qcow2' },
    diskSize: '1Gi',
    storageClass: 'fast',
  })
  expect(sizeOf(dataVolumeLike(1)) / sizeOf(real)).toBeCloseTo(1, 1)
})

it('dataVolumeLike is left as it is by the simulators', async () => {
  const world = await SimulatedCluster.start()
  world.create(NAMESPACE, { name: YARDSTICK })
  const { metadata, ...rest } = dataVolumeLike(1)
  const created = world.create(DATA_VOLUME, metadata, rest)
  await world.pass(60_000)
  expect(world.cluster.admin.get(DATA_VOLUME, metadata)).toEqual(created)
  expect(world.claims(YARDSTICK)).toEqual([])
})

it('ledgerLike is another one for each pair of writes', () => {
  expect(ledgerLike(4, 1)).not.toEqual(ledgerLike(4, 2))
  expect(ledgerLike(4, 2, '7').metadata.resourceVersion).toBe('7')
})
