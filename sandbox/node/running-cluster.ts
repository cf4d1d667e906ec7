import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { Enclave } from './enclave.ts'
import type { GoCommands } from './go-commands.ts'

/** What the parts of a cluster need of it. Its control plane serves. */
export interface RunningCluster {
  readonly directory: string
  readonly enclave: Enclave
  readonly commands: GoCommands
  /** Sends requests as the administrator. */
  readonly client: HttpKubeClient
  /** Creates an object, unless it exists. */
  create(path: string, object: object): Promise<void>
  certificateAuthority(): Promise<string>
  /** Writes a certificate for a server, and returns the paths. */
  servingCertificate(name: string, ...hosts: readonly string[]): Promise<{ key: string; certificate: string }>
  /** Kubeconfig for processes in the network of the cluster. */
  kubeconfigInside(user: string, groups: readonly string[]): Promise<string>
  /** Starts a process beside the API server, in the network of the cluster. As in a Deployment, it starts again when it ends. */
  run(name: string, command: readonly string[], env?: Readonly<Record<string, string>>): void
  /** Namespaces of their own in the cluster's network, for what cannot share one. */
  neighbour(name: string, address: string): Promise<Enclave>
  until(what: string, isSo: () => Promise<boolean>): Promise<void>
}
