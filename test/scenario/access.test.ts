import { ANNOTATIONS } from '@open-terrain/constructs'
import { it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

it('the operator needs no more than the rights that it is installed with', async () => {
  await using world = await World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
  await world.syncImage('good')
  await world.annotate('good', { [ANNOTATIONS.syncRequestedAt]: '1' })
  await world.untilSynced('good')
  world.imageServer.set({ host: 'images.example.com', path: '/bad', fault: { status: 404 } })
  await world.createImage('bad', { url: 'https://images.example.com/bad' })
  await world.untilReason('bad', 'NotFound')
  await world.createImage('expiring', { reclaimPolicy: 'Delete', unreferencedTTL: '1s' })
  await world.untilGone('expiring')
  await world.finish({ isOrderChecked: false })
})
