import { randomBytes } from 'node:crypto'
import { LABELS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { POD, SECRET } from '../../operator/kube/resource-types.ts'
import { WORKSPACE, type Workspace } from '../harness/kinds.ts'
import { NodeStage } from './node-stage.ts'
import type { RealCluster } from './real-cluster.ts'

export interface LabPod extends KubeObject {
  readonly spec: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string; readonly podIP?: string }
}

/** An existing network that labs may be attached to. */
export const SITE_NETWORK = 'site/lan'

/**
 * An operator that lets labs use what these tests try: any range, ports of nodes, and an existing network.
 * @param further keys of the policy
 */
export async function startForLabs(
  cluster: RealCluster,
  further: Readonly<Record<string, string>> = {},
): Promise<NodeStage> {
  return await NodeStage.start(cluster, {
    clusterCidrs: 'none',
    allowHostPorts: 'true',
    attachableNetworks: SITE_NETWORK,
    ...further,
  })
}

/** A container with the web server of the cluster. */
export function webOf({ podImage: image }: RealCluster, further: object = {}) {
  return [{ name: 'web', image, ...further }]
}

/** A Workspace with container clusters, on a cluster that runs their pods. */
export class Lab {
  readonly name: string
  readonly #stage: NodeStage

  private constructor(stage: NodeStage, name: string) {
    this.#stage = stage
    this.name = name
  }

  static async create(stage: NodeStage, spec: WorkspaceSpecInput): Promise<Lab> {
    const name = `lab-${randomBytes(3).toString('hex')}`
    await stage.cluster.client.create(WORKSPACE, {
      apiVersion: apiVersionOf(WORKSPACE),
      kind: WORKSPACE.kind,
      metadata: { name },
      spec,
    } as KubeObject)
    return new Lab(stage, name)
  }

  get workspace(): Workspace | undefined {
    return this.#stage.mirror.workspaces.get(this.name)
  }

  /** Removes it, and waits until nothing is left. */
  async remove(): Promise<void> {
    const { client } = this.#stage.cluster
    const { mirror } = this.#stage
    await client.delete(WORKSPACE, { name: this.name })
    const isGone = () => this.workspace === undefined && mirror.namespaces.get(this.name) === undefined
    await mirror.until(`the end of ${this.name}`, isGone, () => this.#seen())
  }

  async pods(): Promise<readonly LabPod[]> {
    return (await this.#stage.cluster.client.list<LabPod>(POD, { namespace: this.name })).items
  }

  /** Returns the pod of a container cluster that is not being deleted. One that a kubelet refused, or that has ended, may be there beside it. */
  async podOf(cluster: string): Promise<LabPod> {
    const isThere = (pod: LabPod) => isHeld(pod) && pod.metadata.deletionTimestamp === undefined
    const found = (await this.pods()).find((pod) => isOf(cluster, pod) && isThere(pod))
    if (found === undefined) throw new Error(`${this.name} has no pod of ${cluster}`)
    return found
  }

  async podsOf<const Clusters extends readonly string[]>(
    ...clusters: Clusters
  ): Promise<{ [At in keyof Clusters]: LabPod }> {
    return (await Promise.all(clusters.map((one) => this.podOf(one)))) as { [At in keyof Clusters]: LabPod }
  }

  async createSecret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    const metadata = { namespace: this.name, name }
    const secret = { apiVersion: 'v1', kind: SECRET.kind, metadata, stringData }
    await this.#stage.cluster.client.create(SECRET, secret as KubeObject)
  }

  /** Returns a Secret of its namespace. */
  async secret(name: string): Promise<KubeObject & { readonly data: Readonly<Record<string, string>> }> {
    return await this.#stage.cluster.client.get(SECRET, { namespace: this.name, name })
  }

  /** Names of the nodes that its pods are on. A pod that has ended is on none, though the kubelet may not have removed it yet. */
  async nodes(): Promise<readonly string[]> {
    const names = (await this.pods()).filter(isHeld).flatMap(({ spec }) => spec.nodeName ?? [])
    return [...new Set(names)]
  }

  /** Reports whether a pod is not known to have ended. */
  isHeldBy({ metadata }: LabPod): boolean {
    const pod = this.#mirrored().find((one) => one.metadata.uid === metadata.uid)
    return pod !== undefined && isHeld(pod)
  }

  async untilReady(): Promise<void> {
    const isReady = () => this.workspace?.status?.phase === 'Ready'
    await this.#stage.mirror.until(`${this.name} is ready`, isReady, () => this.#seen())
  }

  async untilCondition(type: string, status: string): Promise<void> {
    const { mirror } = this.#stage
    const isSo = () => this.workspace?.status?.conditions?.find((one) => one.type === type)?.status === status
    await mirror.until(`${type} of ${this.name} is ${status}`, isSo, () => this.#seen())
  }

  /** Resolves with the message of a component, by default of a container cluster, when that has the reason. */
  async untilReason(component: string, reason: string, ofKind = 'ContainerCluster'): Promise<string> {
    return await this.#stage.mirror.until(
      `${ofKind} ${component} of ${this.name} is ${reason}`,
      () => {
        const { components = [] } = this.workspace?.status ?? {}
        const found = components.find(({ kind, name }) => kind === ofKind && name === component)
        return found?.reason === reason && (found.message ?? '')
      },
      () => this.#seen(),
    )
  }

  /** Resolves with the pod of a container cluster when that has a node, and is not the one before. */
  async untilReplaced(cluster: string, before: KubeObject): Promise<LabPod> {
    const isOther = ({ metadata }: KubeObject) => metadata.uid !== before.metadata.uid
    const found = () =>
      this.#mirrored().find((pod) => isOf(cluster, pod) && isOther(pod) && pod.spec.nodeName !== undefined)
    return await this.#stage.mirror.until(`another pod of ${cluster} of ${this.name}`, found, () => this.#seen())
  }

  #mirrored(): LabPod[] {
    const pods = [...this.#stage.mirror.pods.values()] as LabPod[]
    return pods.filter(({ metadata }) => metadata.namespace === this.name)
  }

  #seen(): string {
    const pods = this.#mirrored().map(({ metadata, spec, status }) => ({ name: metadata.name, spec, status }))
    const status = this.workspace?.status
    // First, because the middle of a long text may be left out where it is read.
    const notReady = status?.components?.filter(({ phase }) => phase !== 'Ready')
    return JSON.stringify({ notReady, status, pods }, undefined, 1)
  }
}

function isHeld({ status }: LabPod): boolean {
  return !['Succeeded', 'Failed'].includes(status?.phase ?? '')
}

function isOf(cluster: string, { metadata }: KubeObject): boolean {
  return metadata.labels?.[LABELS.containerCluster] === cluster
}
