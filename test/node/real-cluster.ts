import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { Kubeconfig } from '../../sandbox/control-plane/credentials.ts'
import type { SourceStats } from '../../sandbox/node/source-server.ts'
import type { InsideNodes } from './inside-nodes.ts'
import type { OperatorImages } from './operator-images.ts'
import type { OtherSources } from './other-sources.ts'

/** Why a test is skipped. */
export const INSIDE = 'pods and nodes are only seen from inside where the nodes are made here'

/** A cluster that really runs pods, with CDI: one made here, or an existing one. */
export interface RealCluster {
  readonly client: HttpKubeClient
  readonly controlPlane: {
    readonly kubeconfigPath: string
    addUser(name: string, groups?: readonly string[]): Promise<Pick<Kubeconfig, 'path'>>
  }
  /** Where importers find the files, without a slash at the end. */
  readonly sourceUrl: string
  readonly storageClass: string
  /** Of volumes that are bound to the node that uses them first. */
  readonly localStorageClass: string | undefined
  readonly snapshotClass: string
  /** A container image that every node has or can pull, with a web server on port 80 that runs until it is told to end. */
  readonly podImage: string
  /** Undefined where somebody else made the nodes. */
  readonly inside: InsideNodes | undefined
  /** Undefined if the nodes can pull nothing from here. */
  readonly operatorImages: OperatorImages | undefined
  /** An S3 server and a registry. Undefined where importers cannot reach them. */
  readonly others: OtherSources | undefined
  /** All requests at the web server so far. */
  requests(): Promise<readonly SourceStats[]>
  stop(): Promise<void>
}
