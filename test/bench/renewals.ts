import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../operator/base/clock.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { LEASE } from '../../operator/kube/resource-types.ts'
import { OPERATOR_NAMESPACE } from '../../sandbox/control-plane/cluster.ts'

/** A leader that has not renewed its Lease for this long stops leading. */
export const RENEW_DEADLINE_S = 10
const LOOK_MS = 100

/** Returns the longest time in ms between two renewals of the Lease while the work is done. Somebody must lead. */
export async function longestGap(client: KubeClient, work: () => Promise<void>): Promise<number> {
  let last = systemClock.monotonic()
  let longest = 0
  let seen: string | undefined
  const look = async () => {
    const lease = await client.get(LEASE, { namespace: OPERATOR_NAMESPACE, name: 'sync-operator' })
    const now = systemClock.monotonic()
    longest = Math.max(longest, now - last)
    if (lease.metadata.resourceVersion !== seen) last = now
    seen = lease.metadata.resourceVersion
  }
  const done = new AbortController()
  const watching = (async () => {
    for (; !done.signal.aborted; await sleep(LOOK_MS)) await look()
  })()
  try {
    await work()
  } finally {
    done.abort()
  }
  await watching
  return Math.round(longest)
}
