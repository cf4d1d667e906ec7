import { systemClock } from '../../operator/base/clock.ts'
import { clusterCaches } from '../../operator/cluster/caches.ts'
import { DataSyncCaches } from '../../operator/controllers/data-sync/caches.ts'
import { MachineCaches } from '../../operator/controllers/virtual-machine/caches.ts'
import { ImageCaches } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WorkspaceCaches } from '../../operator/controllers/workspace/caches.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type Kept, Reflectors } from '../../operator/runtime/reflectors.ts'
import { silentLog } from '../harness/log.ts'
import { planOf, serveParent } from './child.ts'

export interface BareListPlan {
  readonly kubeconfig: string
}

export interface BareList {
  readonly seconds: number
  /** Sum over all kinds. */
  readonly objects: number
}

/** Reads the same objects as the operator's caches, in the same way, and drops them. */
async function main({ kubeconfig }: BareListPlan): Promise<void> {
  const connection = Connection.fromEnvironment(null, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-bare-list' })
  const kinds = kindsOfOperator(client)
  serveParent(async (): Promise<BareList> => {
    const startedAt = performance.now()
    const counts = await Promise.all(kinds.map((kept) => countObjects(client, kept)))
    const seconds = (performance.now() - startedAt) / 1_000
    return { seconds, objects: counts.reduce((sum, count) => sum + count, 0) }
  })
}

/** Returns what the operator's caches would list at a start without machines and workspaces. The caches never run here. */
function kindsOfOperator(client: KubeClient): readonly Kept[] {
  const options = { client, clock: systemClock, random: Math.random, log: silentLog, onRelist: () => undefined }
  const reflectors = new Reflectors(options)
  const cluster = clusterCaches(reflectors)
  const { images } = new ImageCaches(cluster)
  const { machines } = new MachineCaches(reflectors, images, cluster)
  new DataSyncCaches(reflectors, images, cluster)
  new WorkspaceCaches(reflectors, images, machines, cluster)
  return reflectors.kept.filter(({ onDemand }) => !onDemand)
}

/** Counts the objects that exist. 0 for a kind that is not installed. */
async function countObjects(client: KubeClient, { type, selection }: Kept): Promise<number> {
  let count = 0
  try {
    for await (const event of client.watch(type, selection)) {
      if (event.type !== 'BOOKMARK') count += 1
      else if (event.endsInitialEvents === true) break
    }
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
  return count
}

await main(planOf<BareListPlan>())
