import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { CONFIG_MAP, DATA_VOLUME, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { planOf, serveParent } from './child.ts'
import { dataVolumeLike, ledgerLike, YARDSTICK } from './yardstick-objects.ts'

export interface YardstickPlan {
  readonly kubeconfig: string
  /** Number of holders in the real ledger when all slots are taken. */
  readonly slots: number
}

/** Pairs that do not count: a client that has just started is several times slower. */
const WARM_UP = 20

/** Does a pair of writes whenever it is asked to, and returns the milliseconds that they took. */
async function main({ kubeconfig, slots }: YardstickPlan): Promise<void> {
  const connection = Connection.fromEnvironment(1, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-yardstick' })
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: YARDSTICK } })
  let ledger = await client.create(CONFIG_MAP, ledgerLike(slots, 0))
  let pairs = 0
  const writePair = async (): Promise<number> => {
    pairs += 1
    const next = ledgerLike(slots, pairs, ledger.metadata.resourceVersion)
    const dataVolume = dataVolumeLike(pairs)
    const startedAt = performance.now()
    ledger = await client.replace(CONFIG_MAP, next)
    await client.create(DATA_VOLUME, dataVolume)
    const tookMs = performance.now() - startedAt
    await client.delete(DATA_VOLUME, dataVolume.metadata)
    return tookMs
  }
  for (let at = 0; at < WARM_UP; at += 1) await writePair()
  serveParent(writePair)
}

await main(planOf<YardstickPlan>())
