import { beforeEach, describe, expect, it } from 'vitest'
import { DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'
import type { DataVolume } from './models.ts'

const DISK = { namespace: TEAM, name: 'disk' }

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

function createDisk(name = DISK.name): void {
  const storage = { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } }
  world.create(
    DATA_VOLUME,
    { namespace: TEAM, name },
    {
      spec: { source: { http: { url: 'https://images.example.com/disk.qcow2' } }, storage },
    },
  )
}

describe('an import', () => {
  it('shows for a moment that its claim was saved twice, as some do, and that nothing came of it', async () => {
    const shown = new Set<string>()
    world.cluster.onCommit(({ resource, object }) => {
      const { conditions = [] } = (object as DataVolume).status ?? {}
      if (resource === DATA_VOLUME) for (const { type, message = '' } of conditions) shown.add(`${type} ${message}`)
    })
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const name of names) createDisk(name)
    for (const name of names) await world.untilPhase(name, 'Succeeded')
    const found = (text: string) =>
      [...shown].filter((one) => one.startsWith('Bound target PVC ') && one.includes(text))
    expect(found('Error saving claim: Operation cannot be fulfilled on persistentvolumeclaims "prime-')).not.toEqual([])
    expect(found('Waiting for a volume to be created')).not.toEqual([])
  })
})

describe('cdi-controller that is stopped', () => {
  it('ends, once it is back, the importer of a DataVolume that was deleted meanwhile', async () => {
    world.simulators.cdi.script(DISK, { type: 'stall' })
    createDisk()
    await world.until('the download', () => world.simulators.cdi.observed.importing === 1)
    const comeBack = world.simulators.cdi.stopController()
    world.cluster.admin.delete(DATA_VOLUME, DISK, { propagationPolicy: 'Background' })
    await world.pass(60_000)
    expect(world.pods()).toHaveLength(1)
    comeBack()
    await world.until('the end of the importer', () => world.pods().length === 0)
    expect(world.simulators.cdi.observed.importing).toBe(0)
  })

  it('is back only when all outages are over, each of which ends once', async () => {
    const [first, second] = [world.simulators.cdi.stopController(), world.simulators.cdi.stopController()]
    createDisk()
    first()
    first()
    await world.pass(60_000)
    expect(world.dataVolume('disk')?.status).toBeUndefined()
    second()
    await world.untilPhase('disk', 'Succeeded')
  })
})
