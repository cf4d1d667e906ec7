import { systemClock } from '../../operator/base/clock.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type Cluster, startCluster } from '../control-plane/cluster.ts'
import { ImageServer } from '../image-server/image-server.ts'
import { httpTransfer, startSimulators } from '../simulators/index.ts'
import { gatherCast, type Performer, stock } from './cast.ts'
import type { Sent } from './evidence.ts'
import { Observer } from './observer.ts'
import type { TransferStart } from './timeline.ts'
import { metered } from './transfer-meter.ts'

/** As slow as the real systems are at best, so that each step is visible. */
const SIMULATOR_DELAYS = {
  provisionMs: 150,
  scheduleMs: 150,
  progressMs: 250,
  snapshotMs: 1_500,
  cloneMs: 1_000,
  prepareMs: 500,
  launchMs: 500,
  bootMs: 1_500,
  shutdownMs: 750,
}

/** Everything around the operator: the cluster, the source of its downloads, and the observer. */
export interface Theatre {
  readonly cluster: Cluster
  readonly client: KubeClient
  readonly cast: readonly Performer[]
  readonly imageServer: ImageServer
  readonly observer: Observer
  /** Each download that was started, in order. */
  readonly transfers: readonly TransferStart[]
  /** Lets the held downloads finish. */
  readonly releaseDownloads: () => void
}

/** Starts everything. `stack` stops it, in reverse order. */
export async function openTheatre(stack: AsyncDisposableStack, onCluster: () => void): Promise<Theatre> {
  const cluster = stack.use(await startCluster({ access: true }))
  onCluster()
  const connection = Connection.fromEnvironment(null, cluster.controlPlane.kubeconfigPath)
  stack.defer(() => connection.close())
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-demo' })
  const cast = await gatherCast()
  const imageServer = await ImageServer.start()
  stack.defer(() => imageServer.stop())
  const lowered = Promise.withResolvers<void>()
  stock(imageServer, cast, lowered.promise)
  const observer = new Observer(client)
  const transfers: TransferStart[] = []
  const transfer = metered(httpTransfer(imageServer), (url, importing) => {
    transfers.push({ url, importing, ledgerRevision: observer.ledgerRevision })
  })
  const simulators = await startSimulators({
    client,
    clock: systemClock,
    random: Math.random,
    transfer,
    options: SIMULATOR_DELAYS,
  })
  stack.defer(() => simulators.stop())
  await observer.start()
  stack.defer(() => observer.stop())
  return { cluster, client, cast, imageServer, observer, transfers, releaseDownloads: lowered.resolve }
}

/** Returns what the image server sent, by URL of the cast. */
export function sentBy({ imageServer, cast }: Pick<Theatre, 'imageServer' | 'cast'>): Map<string, Sent> {
  const urls = cast.flatMap(({ url }) => url ?? [])
  return new Map(
    urls.map((url) => {
      const { requests, bytesSent, open } = imageServer.statsOf(url)
      return [url, { requests, bytes: bytesSent, open }]
    }),
  )
}
