import { afterEach, describe, expect, it } from 'vitest'
import { controllerOf } from '../../operator/kube/controller-of.ts'
import { DATA_SOURCE, DATA_VOLUME, POD, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { MINUTE, SECOND } from '../../operator/runtime/times.fixtures.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import type { DataVolume } from '../harness/kinds.ts'
import { FARM, MachineWorld } from './machines/machine-world.ts'

// kubectl delete --cascade=orphan: the garbage collector takes the owner off what an image has made, before or after the operator sees it.

let world: MachineWorld
afterEach(() => world.stop())

const ORPHAN = { propagationPolicy: 'Orphan' } as const
const deleteImage = (name: string) => world.simulated.cluster.admin.delete(IMAGE, { namespace: FARM, name }, ORPHAN)
const isSynced = (name: string) => () => world.image(name)?.status?.phase === 'Succeeded'
const volumes = () => world.simulated.cluster.admin.list<DataVolume>(DATA_VOLUME, { namespace: FARM }).items
const unfinished = () => volumes().filter(({ status }) => status?.phase !== 'Succeeded')

describe('a download that is orphaned before an operator sees that its image goes', () => {
  /** One slot. It is held for a DataVolume that nobody owns, and that has no importer yet, while another image waits. */
  async function orphaned() {
    world = await MachineWorld.start({ concurrency: '1' })
    const { cdi } = world.simulated.simulators
    const provision = cdi.script({ namespace: FARM }, { type: 'unprovisioned' })
    let most = 0
    world.simulated.cluster.onCommit(({ resource }) => {
      if (resource === DATA_VOLUME) most = Math.max(most, unfinished().length)
    })
    world.createImage('first')
    await world.until('a download', () => unfinished().length === 1)
    world.createImage('second')
    await world.pass(SECOND)
    world.killOperator()
    deleteImage('first')
    await world.until('the orphan', () => unfinished().every((one) => controllerOf(one) === undefined))
    const [orphan] = unfinished()
    // Its importer is lost with a node, and CDI may not make another one yet.
    const allow = cdi.script({ namespace: FARM }, { type: 'quota', of: 'pod' })
    for (const { metadata } of world.simulated.pods(FARM)) world.delete(POD, FARM, metadata.name)
    await world.until('the end of its importer', () => world.simulated.pods(FARM).length === 0)
    provision()
    world.startOperator()
    // Longer than anything that was asked for about its claim may be on its way.
    await world.pass(10 * MINUTE)
    expect(unfinished().map(({ metadata }) => metadata.uid)).toEqual([orphan?.metadata.uid])
    expect(world.image('first')?.status?.message).toContain(
      `DataVolume ${orphan?.metadata.name}, which has lost its owner`,
    )
    return { orphan, allow, mostDownloads: () => most }
  }

  it('keeps its slot until it has Succeeded, and is left to whoever asked for that', async () => {
    const { orphan, allow, mostDownloads } = await orphaned()
    allow()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
    expect(volumes().find(({ metadata }) => metadata.uid === orphan?.metadata.uid)?.status?.phase).toBe('Succeeded')
    expect(world.written).not.toContain(`MODIFIED DataVolume ${FARM}/${orphan?.metadata.name}`)
    expect(mostDownloads()).toBe(1)
  })

  it('keeps its slot until somebody deletes it', async () => {
    const { orphan, allow, mostDownloads } = await orphaned()
    world.delete(DATA_VOLUME, FARM, orphan?.metadata.name ?? '')
    await world.until('the next download', () =>
      unfinished().some(({ metadata }) => metadata.uid !== orphan?.metadata.uid),
    )
    allow()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
    expect(mostDownloads()).toBe(1)
  })
})

describe('an image that is orphaned while the operator looks on', () => {
  it.each<[string, readonly string[]]>([
    ['all at once', []],
    ['the image first, and its children later', ['DataVolume', 'VolumeSnapshot', 'DataSource']],
    ['the children first, and their image later', ['VMDiskImage']],
  ])('leaves its children without an owner, as asked, when watches tell of %s', async (_order, late) => {
    world = await MachineWorld.start()
    world.createImage('golden')
    await world.until('the image', isSynced('golden'))
    for (const kind of late) world.network.open({ do: 'watchFaults', fault: 'held', percent: 100, forMs: MINUTE, kind })
    deleteImage('golden')
    await world.until('its end', () => world.image('golden') === undefined)
    await world.pass(10 * MINUTE)
    for (const type of [DATA_VOLUME, VOLUME_SNAPSHOT, DATA_SOURCE]) {
      const { items } = world.simulated.cluster.admin.list(type, { namespace: FARM })
      expect(items.map((one) => [one.kind, controllerOf(one), one.metadata.deletionTimestamp])).toEqual([
        [type.kind, undefined, undefined],
      ])
    }
  })

  it('ends its download all the same, or waits for it, and the next one starts then', async () => {
    world = await MachineWorld.start({ concurrency: '1' })
    const provision = world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'unprovisioned' })
    world.createImage('first')
    await world.until('a download', () => unfinished().length === 1)
    const [first] = volumes()
    world.createImage('second')
    await world.pass(SECOND)
    deleteImage('first')
    await world.pass(MINUTE)
    const isStopped = !volumes().some(({ metadata }) => metadata.uid === first?.metadata.uid)
    expect(volumes()).toHaveLength(1)
    expect(world.image('first') === undefined).toBe(isStopped)
    provision()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
  })
})
