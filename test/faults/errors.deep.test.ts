import { expect, inject, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { FaultStage } from './fault-stage.ts'
import { type Server, surviveOutage } from './outage.ts'
import { PATIENT_LEASE, STORM_SHARE, weatherStorm } from './storm.ts'

/** How long three of ten requests meet a fault. `FAULT_MINUTES=10` for more. */
const STORM_MS = Number(process.env['FAULT_MINUTES'] ?? 0.2) * 60_000
/** How often each server is killed. `FAULT_OUTAGES=20` for more. */
const OUTAGES = Number(process.env['FAULT_OUTAGES'] ?? 1)
const SERVERS: readonly Server[] = ['API server', 'etcd']
const LIMIT = 3

const cluster = useOwnCluster()

it(`an API server that answers ${STORM_SHARE * 100} % of all requests with errors for ${STORM_MS / 1_000} s, and loses itself and its etcd for a moment, fails no sync`, async () => {
  const options = { entry: inject('operatorBundle'), concurrency: LIMIT, lease: PATIENT_LEASE }
  await using stage = await FaultStage.start(cluster(), options)
  const { requests, faults, undelayed } = await weatherStorm(stage, STORM_MS)
  const struck = [...faults.values()].reduce((sum, count) => sum + count, 0)
  expect(struck).toBeGreaterThan(requests / 5)
  expect(undelayed, 'images whose order was checked').toBeGreaterThan(0)
  for (const server of SERVERS)
    for (let round = 1; round <= OUTAGES; round += 1) await surviveOutage(stage, server, round)
  await stage.world.finish({ isOrderChecked: false })
})
