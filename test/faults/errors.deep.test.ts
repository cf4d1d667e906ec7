import { describe, expect, inject, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { FaultStage } from './fault-stage.ts'
import { type Server, surviveOutage } from './outage.ts'
import { PATIENT_LEASE, STORM_SHARE, weatherStorm } from './storm.ts'

/** How long three of ten requests meet a fault. `FAULT_MINUTES=10` for more. */
const STORM_MS = Number(process.env['FAULT_MINUTES'] ?? 0.5) * 60_000
/** How often each server is killed. `FAULT_OUTAGES=20` for more. */
const OUTAGES = Number(process.env['FAULT_OUTAGES'] ?? 2)
const LIMIT = 3

describe('an API server in trouble', () => {
  const cluster = useOwnCluster()

  const start = () =>
    FaultStage.start(cluster(), { entry: inject('operatorBundle'), concurrency: LIMIT, lease: PATIENT_LEASE })

  it(`that answers ${STORM_SHARE * 100} % of all requests with errors for ${STORM_MS / 1_000} s fails no sync`, async () => {
    await using stage = await start()
    const { requests, faults, undelayed } = await weatherStorm(stage, STORM_MS)
    const struck = [...faults.values()].reduce((sum, count) => sum + count, 0)
    expect(struck).toBeGreaterThan(requests / 5)
    expect(undelayed, 'images whose order was checked').toBeGreaterThan(0)
  })

  it.each<Server>(['API server', 'etcd'])(
    `that loses its %s for a moment, ${OUTAGES} times, is used again`,
    async (server) => {
      await using stage = await start()
      for (let round = 1; round <= OUTAGES; round += 1) await surviveOutage(stage, server, round)
      await stage.world.finish({ isOrderChecked: false })
    },
  )
})
