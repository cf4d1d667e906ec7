import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { snapshotOf } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

describe('the image of a machine, refreshed', () => {
  it.each(['before', 'after'] as const)(
    'between its end and the clone, is cloned as it is published then: %s the new one is',
    async (moment) => {
      await using world = await World.start(cluster(), ONE_AT_A_TIME)
      const machines = new Machines(world)
      await machines.create('vm', { users: [{ name: 'demo', passwordSecretRef: { name: 'later', key: 'secretKey' } }] })
      const first = (await world.untilSynced('golden')).status?.artifact
      await machines.untilReason('vm', 'MissingPasswordSecret')
      const url = world.urlOf('better')
      const release = world.gate.hold(url)
      await world.patchImage('golden', { spec: { url } })
      await world.untilPhase('golden', 'Syncing')
      if (moment === 'after') {
        release()
        await world.untilSynced('golden')
      }
      const { artifact } = world.getImage('golden')?.status ?? {}
      expect(artifact?.name === first?.name).toBe(moment === 'before')
      await world.createSecret('later')
      const { status } = await machines.untilReady('vm')
      expect(snapshotOf(machines.disk('vm'))).toBe(artifact?.name)
      expect(status?.clone?.sourceRevision).toBe(artifact?.revision)
      release()
      await world.untilSynced('golden')
      // A machine that has a disk keeps it.
      expect(snapshotOf(machines.disk('vm'))).toBe(artifact?.name)
      await machines.delete('vm')
      await world.finish()
    },
  )

  it('while its snapshot is taken, is cloned from what was published when the disk was made', async () => {
    await using world = await World.start(cluster(), { ...ONE_AT_A_TIME, pace: { snapshotMs: 500 } })
    const machines = new Machines(world)
    await machines.create('vm')
    await world.untilPhase('golden', 'Snapshotting')
    await world.patchImage('golden', { spec: { url: world.urlOf('better') } })
    const published = new Map<string, string>()
    world.mirror.images.onChange(({ after }) => {
      const { artifact } = after?.status ?? {}
      if (artifact !== undefined) published.set(artifact.name, artifact.revision)
    })
    const { status } = await machines.untilReady('vm')
    const source = snapshotOf(machines.disk('vm'))
    await world.until('its source was published', () => published.has(source))
    expect(status?.clone?.sourceRevision).toBe(published.get(source))
    await world.untilSynced('golden')
    expect(world.downloadsOf(world.urlOf('better'))).toBe(1)
    await machines.delete('vm')
    await world.finish()
  })
})
