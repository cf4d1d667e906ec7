import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const NAMES = Array.from({ length: 8 }, (_, at) => `image-${at}`)

describe('a cluster that breaks in the middle', () => {
  const cluster = useOwnCluster()

  it.each(['the API server', 'etcd'] as const)(
    'goes on when %s is back, and downloads nothing twice',
    async (server) => {
      await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
      const { controlPlane } = cluster()
      const release = world.gate.hold(world.urlOf('image-3'))
      for (const name of NAMES) await world.createImage(name)
      await world.untilDownloading('image-3')
      const struck = server === 'etcd' ? controlPlane.etcd : controlPlane.apiServer
      await struck.kill()
      release()
      await struck.start()
      for (const name of NAMES) await world.untilSynced(name)
      for (const name of NAMES) {
        expect(world.getImage(name)?.status?.attempts, name).toMatchObject([{ outcome: 'Succeeded', downloads: 1 }])
        expect(world.downloads(name), name).toBe(1)
      }
      await world.finish({ isOrderChecked: false, areRightsChecked: false })
    },
  )
})
