import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { type Entry, factsOf, Recording } from '../node/recorder.ts'
import { SimulatedCluster, TEAM } from '../prepared/sandbox/simulated-cluster.ts'

const RECORDED = join(import.meta.dirname, '../node/recorded/http-qcow2.json')
const TYPES = [POD, PERSISTENT_VOLUME_CLAIM, DATA_VOLUME]

it('a simulated import with scratch space has the order of events that was recorded of the real one', async () => {
  const world = await SimulatedCluster.start({ phaseLagMs: 2_000 })
  const recording = new Recording(() => world.time.elapsedMs)
  world.cluster.onCommit(({ type, resource, object }) => {
    if (TYPES.includes(resource)) recording.note(type, object)
  })
  world.simulators.cdi.script({ namespace: TEAM }, { type: 'scratchSpaceRequired' })
  const spec = {
    source: { http: { url: 'https://images.example.com/disk.qcow2' } },
    storage: { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
  }
  world.create(DATA_VOLUME, { namespace: TEAM, name: 'disk' }, { spec })
  await world.untilPhase('disk', 'Succeeded')
  await world.pass(60_000)
  const recorded = JSON.parse(await readFile(RECORDED, 'utf8')) as Entry[]
  expect(factsOf(recording.entries)).toEqual(factsOf(recorded))
})
