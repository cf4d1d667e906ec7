import { renderLedger } from '../../operator/controllers/vm-disk-image/ledger-content.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { planOf, serveParent } from './child.ts'

export interface YardstickPlan {
  readonly kubeconfig: string
  /** Holders of slots that the real ledger has when all are taken: ours is as large. */
  readonly holders: number
}

const NAME = 'yardstick'
/** A client that has just been started takes several times as long. */
const WARM_UP = 20
/** About what labels, annotations, owner and URL take in a DataVolume of the operator. */
const FILLER = 'x'.repeat(620)

/** Does a pair of writes whenever it is asked to, and says how many milliseconds they took. */
async function main({ kubeconfig, holders }: YardstickPlan): Promise<void> {
  const connection = Connection.fromEnvironment(1, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-yardstick' })
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: NAME } })
  let ledger: KubeObject = await client.create(CONFIG_MAP, ledgerOf(holders, 0))
  let pairs = 0
  const writePair = async (): Promise<number> => {
    pairs += 1
    const { resourceVersion = '' } = ledger.metadata
    const next = ledgerOf(holders, pairs, resourceVersion)
    const dataVolume = dataVolumeOf(pairs)
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

/** Different for each pair: a write that changes nothing does not reach etcd. */
function ledgerOf(holders: number, pair: number, resourceVersion?: string): KubeObject {
  const metadata = { namespace: NAME, name: NAME, ...(resourceVersion !== undefined && { resourceVersion }) }
  const holderOf = (at: number) => ({
    uid: crypto.randomUUID(),
    namespace: NAME,
    name: `image-${at}`,
    revision: '0123abcd',
    attempt: pair + 1,
    claimant: `operator_${NAME}`,
  })
  return renderLedger(metadata, { limit: holders, holders: Array.from({ length: holders }, (_, at) => holderOf(at)) })
}

/** One that waits for an upload: it has no owner, so the operator and the observer count it for nothing, and CDI leaves it as it is. */
function dataVolumeOf(pair: number): KubeObject {
  const metadata = { namespace: NAME, name: `${NAME}-${pair}`, annotations: { 'bench.example.com/filler': FILLER } }
  const storage = { resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast' }
  const spec = { contentType: 'kubevirt', source: { upload: {} }, storage }
  return { apiVersion: apiVersionOf(DATA_VOLUME), kind: DATA_VOLUME.kind, metadata, spec } as KubeObject
}

await main(planOf<YardstickPlan>())
