import type { Manifest } from '@open-terrain/constructs/platform'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { DEPLOYMENT, POD } from '../../operator/kube/resource-types.ts'
import { isOperatorPod } from '../../sandbox/simulators/operator-pods/template.ts'
import { ApiUser } from './api-user.ts'
import type { Mirror } from './mirror.ts'

const NAME = 'open-terrain-operator'

interface Deployment extends Manifest {
  readonly metadata: Manifest['metadata'] & { readonly generation?: number }
  readonly status?: {
    readonly observedGeneration?: number
    readonly updatedReplicas?: number
    readonly replicas?: number
    readonly readyReplicas?: number
  }
}

/** Where an operator is installed. A World has all of it. */
export interface Ground {
  readonly cluster: { readonly controlPlane: { readonly kubeconfigPath: string } }
  readonly client: KubeClient
  readonly mirror: Mirror
  readonly operatorNamespace: string
  until<T>(what: string, probe: () => T | undefined | false): Promise<T>
}

/** Manifests of an installation, applied as a platform engineer does it, and the pods that follow from them. */
export class InstalledOperator implements AsyncDisposable {
  readonly admin: ApiUser
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
    this.admin = new ApiUser(ground.cluster.controlPlane.kubeconfigPath)
  }

  /** Works like `kubectl apply --server-side`. Retries, because a kind or namespace may have been created a moment before. */
  async applyObject(object: Manifest): Promise<void> {
    const query = '?fieldManager=kubectl&force=true'
    await this.admin.askUntil('granted', 'APPLY', `${pathOf(object)}${query}`, object)
  }

  /** Works like `kubectl delete --wait=false`. Returns the response. */
  async remove(object: Manifest): Promise<{ status: number; message: string }> {
    return await this.admin.ask('DELETE', `${pathOf(object)}?propagationPolicy=Background`)
  }

  get deployment(): Deployment | undefined {
    const { mirror, operatorNamespace } = this.#ground
    return mirror.deployments.get(`${operatorNamespace}/${NAME}`) as Deployment | undefined
  }

  get pods() {
    return [...this.#ground.mirror.pods.values()].filter(
      (pod) => isOperatorPod(pod) && pod.metadata.namespace === this.#ground.operatorNamespace,
    )
  }

  /** The identity in the Lease begins with the name of the pod. */
  get leader(): string | undefined {
    const lease = this.#ground.mirror.leases.get(`${this.#ground.operatorNamespace}/sync-operator`)
    return lease?.spec?.holderIdentity?.split('_')[0]
  }

  deletePod(name: string): Promise<void> {
    return this.#ground.client.delete(POD, { namespace: this.#ground.operatorNamespace, name })
  }

  /** Waits like `kubectl rollout status`: all replicas have the latest template and are ready. */
  async untilRolledOut(image: string, replicas = 2): Promise<void> {
    await this.#ground.until(`${replicas} ready replicas of ${image}`, () => {
      const { updatedReplicas, readyReplicas, replicas: all, observedGeneration } = this.deployment?.status ?? {}
      if (observedGeneration !== this.deployment?.metadata.generation) return false
      const current = this.pods.every((pod) => JSON.stringify(pod).includes(image))
      return current && [updatedReplicas, readyReplicas, all].every((count) => count === replicas)
    })
  }

  async untilLeading(isMeant: (pod: string) => boolean = () => true): Promise<string> {
    return await this.#ground.until('a leader', () => {
      const { leader } = this
      return leader !== undefined && leader !== '' && isMeant(leader) ? leader : undefined
    })
  }

  /** Removes the operator and waits until no replica is left. */
  async removeOperator(): Promise<void> {
    await this.#ground.client.delete(DEPLOYMENT, { namespace: this.#ground.operatorNamespace, name: NAME })
    await this.#ground.until('no replica is left', () => this.pods.length === 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]()
  }
}

/** The API path of an object. */
export function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const singular = kind.toLowerCase()
  const plural = singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`
}
