import { beforeEach, describe, it } from 'vitest'
import { VOLUME_SNAPSHOT, VOLUME_SNAPSHOT_CLASS } from '../../operator/kube/resource-types.ts'
import { DRIVER, FARM, SimulatedCluster } from '../../test/prepared/sandbox/simulated-cluster.ts'

const SNAPSHOT = { namespace: FARM, name: 'snapshot' }

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
  world.createClaim('claim', FARM)
})

function createSnapshot(volumeSnapshotClassName: string): void {
  const spec = { source: { persistentVolumeClaimName: 'claim' }, volumeSnapshotClassName }
  world.create(VOLUME_SNAPSHOT, SNAPSHOT, { spec })
}

const error = () => world.snapshot(SNAPSHOT.name)?.status?.error?.message
const untilError = (message: string) => world.until(`"${message}"`, () => error()?.includes(message) === true)
const untilReady = () => world.until('the snapshot', () => world.snapshot(SNAPSHOT.name)?.status?.readyToUse === true)

describe('a snapshot that the driver rejects so many times', () => {
  it('is not rejected while it waits for its class', async () => {
    world.simulators.snapshotter.script(SNAPSHOT, { type: 'error', message: 'the driver is busy', times: 1 })
    createSnapshot('later')
    await untilError('"later\\" not found')
    await world.pass(60_000)
    world.create(VOLUME_SNAPSHOT_CLASS, { name: 'later' }, { driver: DRIVER })
    await untilError('the driver is busy')
    await untilReady()
  })

  it('is not rejected for that reason while a later script wins', async () => {
    world.simulators.snapshotter.script(SNAPSHOT, { type: 'error', message: 'first', times: 1 })
    const end = world.simulators.snapshotter.script(SNAPSHOT, { type: 'error', message: 'second' })
    createSnapshot('snap')
    await untilError('second')
    await world.pass(60_000)
    end()
    await untilError('first')
    await untilReady()
  })
})
