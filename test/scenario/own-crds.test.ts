import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'
import { kubevirtSimulatorSuite } from './kubevirt-simulator-suite.ts'

/** All writes to children, and that of the machine's finalizer, from a machine without an image to one that runs. */
const WRITES = [
  'create datasources',
  'create datavolumes',
  'create datavolumes',
  'create secrets',
  'create virtualmachines',
  'create volumesnapshots',
  'patch virtualmachines',
]

describe('with the small CRDs of this project for the systems underneath', () => {
  const cluster = useOwnCluster({ foreign: 'own' })

  it('images sync, are refreshed, fail and go; a machine comes before its image, runs, is written no more, and goes', async () => {
    expect(cluster().foreign.source).toBe('own')
    const policy = { concurrency: '2', retryLimit: '1', retryBackoffDuration: '300ms' }
    await using world = await World.start(cluster(), { policy })
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

    const ofImages = world.operator?.writes.length ?? 0
    const machines = new Machines(world)
    await world.createNetwork('control-net')
    await machines.create('vm', {
      resources: { cpu: '1500m', memory: '1Gi' },
      interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }],
      baseVm: 'ubuntu',
    })
    await machines.untilReady('vm')
    await world.untilImage('golden', 'one reference', ({ status }) => status?.references?.count === 1)
    // A field that a schema drops would be written again at each reconcile.
    await world.untilQuiet()
    const made = world.operator?.writes.slice(ofImages).map(({ verb, resource }) => `${verb} ${resource}`) ?? []
    expect(made.filter((write) => /^(create|patch) (?!configmaps|events|vmdiskimages)/.test(write)).toSorted()).toEqual(
      WRITES,
    )
    expect(machines.children()).toEqual(['VirtualMachine/vm', 'DataVolume/vm-root', 'Secret/vm-cloudinit'])
    await machines.delete('vm')
    await world.until('no child is left', () => machines.children().length === 0)
    await world.finish()
  })

  kubevirtSimulatorSuite('own', cluster)
})
