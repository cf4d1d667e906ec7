import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

describe('with the small CRDs of this project for the systems underneath', () => {
  const cluster = useCluster({ foreign: 'own' })

  it('an image syncs, is refreshed, fails and goes', async () => {
    expect(cluster().foreign.source).toBe('own')
    await using world = await World.start(cluster(), { policy: { retryLimit: '1', retryBackoffDuration: '300ms' } })
    world.imageServer.set({ path: `/${world.namespace}/broken.qcow2`, fault: { status: 500 } })
    await world.createImage('good')
    await world.createImage('broken')
    const before = await world.untilSynced('good')
    await world.annotate('good', { 'pelotech.ot/sync-requested-at': 'now' })
    await world.untilImage('good', 'the new artifact', ({ status }) => {
      return status?.artifact !== undefined && status.artifact.name !== before.status?.artifact?.name
    })
    await world.untilPhase('broken', 'Failed')
    expect(world.downloads('good')).toBe(2)
    expect(world.downloads('broken')).toBe(2)
    await world.finish()
  })
})
