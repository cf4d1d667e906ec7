import { expect, it } from 'vitest'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { SimulatedProcess } from '../../sandbox/memory-cluster/index.ts'
import { FARM, SimulatedCluster } from '../prepared/sandbox/simulated-cluster.ts'
import { runBareMachines } from './bare-machines.ts'

async function build() {
  const world = await SimulatedCluster.start()
  const client = world.cluster.connect({ process: new SimulatedProcess(world.time, 'bench') })
  const run = async (count: number) => {
    let outcome: string | undefined
    runBareMachines(client, count, 60_000).then(
      () => {
        outcome = 'all run'
      },
      (error: Error) => {
        outcome = error.message
      },
    )
    await world.until('its end', () => outcome !== undefined)
    return outcome
  }
  return { world, run }
}

it('runBareMachines has guests run from clones of the images, without an operator', async () => {
  const { world, run } = await build()
  await world.createSnapshot('golden')
  const image = world.create<KubeObject>(IMAGE, { namespace: FARM, name: 'image' }, { spec: {} })
  const artifact = { kind: 'VolumeSnapshot', name: 'golden', revision: '0123abcd', restoreSize: '1Gi' }
  world.cluster.admin.replaceStatus(IMAGE, { ...image, status: { artifact } } as KubeObject)
  await expect(run(2)).resolves.toBe('all run')
  const last = (name: string) => world.shown.get(`${FARM}/${name}`)?.at(-1)
  expect(['bare-0', 'bare-1', 'bare-0-root', 'bare-1-root'].map(last)).toEqual([
    'Running',
    'Running',
    'Succeeded',
    'Succeeded',
  ])
})

it('runBareMachines needs an image', async () => {
  const { run } = await build()
  await expect(run(1)).resolves.toContain('no image')
})
