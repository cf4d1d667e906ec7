import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { freezeWatches } from './frozen-watches.ts'
import { NAMES, RETRY_PERIOD_MS, withOperator } from './watch-stage.ts'

/** The operator drops a frozen watch when the server should have ended it: after a minute at the latest. */
const GIVEN_UP_WITHIN_MS = 60_000

describe('watches that are late', () => {
  const cluster = useOwnCluster()

  it('may be late: decisions on what was true a second ago do no harm', async () => {
    await withOperator(cluster(), async ({ world, proxy }) => {
      await world.until('all kinds are watched', () => proxy.watches.size >= 12)
      for (const watch of proxy.watches) watch.delayMs = 250
      for (const name of NAMES) await world.createImage(name)
      for (const name of NAMES) await world.untilSynced(name)
    })
  })

  it('may freeze without a word: each is given up within a minute, as the operator itself measures it', async () => {
    await withOperator(cluster(), async (stage) => {
      const frozen = await freezeWatches(stage, NAMES)
      expect(frozen.length).toBeGreaterThan(2)
      for (const { resource, renewals } of frozen) {
        // At most this many renewals fit into that time, on a machine of any speed.
        expect(renewals, `renewals of the Lease until the watch of ${resource} was given up`).toBeLessThanOrEqual(
          GIVEN_UP_WITHIN_MS / RETRY_PERIOD_MS,
        )
      }
    })
  })
})
