import { describe, expect, it } from 'vitest'
import { DATA_VOLUME, SECRET } from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { type DataVolume, snapshotOf } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { FARM, SimulatedOperator, TEAM, TEMPLATE } from '../simulated-operator.ts'

const BETTER = 'https://images.example.com/better.qcow2'
/** Its download takes five minutes. */
const SLOW = 'https://images.example.com/minutes-5/vm.qcow2'

let world: SimulatedOperator

const artifact = () => world.image('golden')?.status?.artifact
const phase = () => world.image('golden')?.status?.phase
const refresh = (url: string) => world.patch(IMAGE, { namespace: FARM, name: 'golden' }, { spec: { url } })
const source = () => snapshotOf(world.find<DataVolume>(DATA_VOLUME, TEAM, 'vm-root'))
const isSynced = () => phase() === 'Succeeded'

describe('an image that changes', () => {
  it('while the machine waits for it, is cloned as it is published in the end', async () => {
    world = await SimulatedOperator.start({ concurrency: '1' })
    world.create('vm', { vmDiskImageTemplate: { ...TEMPLATE, url: SLOW } })
    await world.untilReason('vm', 'ImageSyncing')
    refresh(BETTER)
    const { status } = await world.untilReady('vm')
    expect(world.simulated.simulators.cdi.observed.image(BETTER).attempts).toBe(1)
    expect([source(), status?.clone?.sourceRevision]).toEqual([artifact()?.name, artifact()?.revision])
    expect(world.toldBy('vm', 'ImageMismatch')).toMatch(/^True .*url/)
  })

  it.each(['before', 'after'] as const)(
    'between its end and the clone, is cloned as it is published then: %s the new one is',
    async (moment) => {
      world = await SimulatedOperator.start({ concurrency: '1' })
      world.create('vm', { users: [{ name: 'demo', passwordSecretRef: { name: 'later', key: 'password' } }] })
      await world.untilReason('vm', 'MissingPasswordSecret')
      const first = artifact()
      refresh(SLOW)
      await world.until('the refresh', () => phase() === 'Syncing')
      if (moment === 'after') await world.pass(10 * MINUTE)
      const published = artifact()
      expect(published?.name === first?.name).toBe(moment === 'before')
      world.simulated.create(SECRET, { namespace: TEAM, name: 'later' }, { data: { password: 'c2VjcmV0' } })
      const { status } = await world.untilReady('vm')
      expect([source(), status?.clone?.sourceRevision]).toEqual([published?.name, published?.revision])
      await world.pass(10 * MINUTE)
      // A machine that has a disk keeps it.
      expect([isSynced(), source()]).toEqual([true, published?.name])
    },
  )

  it('while its snapshot is taken, is cloned from what was published when the disk was made', async () => {
    world = await SimulatedOperator.start({ concurrency: '1' }, { snapshotMs: 5_000 })
    world.create('vm')
    await world.until('a snapshot', () => phase() === 'Snapshotting')
    refresh(BETTER)
    const published = new Map<string, string>()
    world.simulated.cluster.onCommit(({ resource }) => {
      const { name, revision } = artifact() ?? {}
      if (resource === IMAGE && name !== undefined) published.set(name, revision ?? '')
    })
    const { status } = await world.untilReady('vm')
    expect(published.has(source())).toBe(true)
    expect(status?.clone?.sourceRevision).toBe(published.get(source()))
    await world.until('the refresh', isSynced)
    expect(world.simulated.simulators.cdi.observed.image(BETTER).attempts).toBe(1)
  })
})
