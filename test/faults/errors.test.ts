import { expect, inject, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { FaultStage } from './fault-stage.ts'
import { PATIENT_LEASE, STORM_SHARE, weatherStorm } from './storm.ts'

const STORM_MS = 5_000
const LIMIT = 3

const cluster = useOwnCluster()

it(`an API server that answers ${STORM_SHARE * 100} % of all requests with errors fails no sync`, async () => {
  const options = { entry: inject('operatorBundle'), concurrency: LIMIT, lease: PATIENT_LEASE }
  await using stage = await FaultStage.start(cluster(), options)
  const { requests, faults } = await weatherStorm(stage, STORM_MS)
  const struck = [...faults.values()].reduce((sum, count) => sum + count, 0)
  expect(struck).toBeGreaterThan(requests / 5)
})
