import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  INSTALLATION_PARTS,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
  renderInstallation,
} from '@open-terrain/constructs/platform'
import { expect, inject } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DEPLOYMENT, POD } from '../../operator/kube/resource-types.ts'
import { type ContainerImage, OperatorPods } from '../../sandbox/simulators/operator-pods/operator-pods.ts'
import { isOperatorPod } from '../../sandbox/simulators/operator-pods/template.ts'
import { ApiUser } from './api-user.ts'
import type { World } from './world.ts'

const NAME = 'open-terrain-operator'
const DOCKERFILE = join(import.meta.dirname, '../../Dockerfile')
const REPOSITORY = 'images.example.com/open-terrain-operator'
export const FIRST_RELEASE = `${REPOSITORY}:1.0.0`
export const NEXT_RELEASE = `${REPOSITORY}:1.1.0`

interface Deployment extends Manifest {
  readonly status?: { readonly updatedReplicas?: number; readonly replicas?: number; readonly readyReplicas?: number }
}

/** A line of an operator's log. */
export interface Said {
  readonly pod: string
  readonly line: string
}

/**
 * The manifests of an installation in a world, applied as a platform engineer does it, and the node that runs the operator of their
 * Deployment. Two releases of it can be pulled.
 */
export class Installation implements AsyncDisposable {
  readonly said: Said[] = []
  readonly admin: ApiUser
  readonly #world: World
  #pods: OperatorPods | undefined

  private constructor(world: World) {
    this.#world = world
    this.admin = new ApiUser(world.cluster.controlPlane.kubeconfigPath)
  }

  static async start(world: World): Promise<Installation> {
    const installation = new Installation(world)
    const entry = await entryOf(inject('operatorBundle'))
    installation.#pods = await OperatorPods.start({
      client: world.client,
      controlPlane: world.cluster.controlPlane,
      imageOf: (image) => (image === FIRST_RELEASE || image === NEXT_RELEASE ? entry : undefined),
      log: world.logs.log,
      onLine: (pod, line) => {
        installation.said.push({ pod: pod.metadata.name, line })
        world.logs.lines.push(`${pod.metadata.name}: ${line}`)
        world.mirror.nudge()
      },
    })
    return installation
  }

  render(props: Partial<InstallationProps> = {}): ReturnType<typeof renderInstallation> {
    return renderInstallation({ image: FIRST_RELEASE, namespace: this.#world.operatorNamespace, ...props })
  }

  /** All parts, in their order, or some of them. */
  async apply(props: Partial<InstallationProps> = {}, parts: readonly InstallationPart[] = INSTALLATION_PARTS) {
    const installation = this.render(props)
    for (const part of parts) for (const object of installation[part]) await this.applyObject(object)
  }

  /** `kubectl apply --server-side`. What belongs to a kind or namespace that was made a moment before is tried again. */
  async applyObject(object: Manifest): Promise<void> {
    const query = '?fieldManager=kubectl&force=true'
    await this.admin.askUntil('granted', 'APPLY', `${pathOf(object)}${query}`, object)
  }

  /** `kubectl delete --wait=false`; the answer's status. */
  async remove(object: Manifest): Promise<{ status: number; message: string }> {
    return await this.admin.ask('DELETE', `${pathOf(object)}?propagationPolicy=Background`)
  }

  /** Until its guard is in force: nothing shows when an admission policy is. */
  async untilRefused(object: Manifest): Promise<void> {
    await this.admin.askUntil(/allow-deletion/, 'DELETE', `${pathOf(object)}?dryRun=All`)
  }

  /** As the message of the refusal says. */
  async allowDeletion(object: Manifest): Promise<void> {
    const annotations = { 'pelotech.ot/allow-deletion': 'true' }
    await this.admin.must('PATCH', pathOf(object), { metadata: { annotations } })
  }

  get pods() {
    return [...this.#world.mirror.pods.values()].filter(
      (pod) => isOperatorPod(pod) && pod.metadata.namespace === this.#world.operatorNamespace,
    )
  }

  /** The identity in the Lease begins with the name of the pod. */
  get leader(): string | undefined {
    const lease = this.#world.mirror.leases.get(`${this.#world.operatorNamespace}/sync-operator`)
    return lease?.spec?.holderIdentity?.split('_')[0]
  }

  deletePod(name: string): Promise<void> {
    return this.#world.client.delete(POD, { namespace: this.#world.operatorNamespace, name })
  }

  /** As `kubectl rollout status` waits: the latest template is in all replicas, and all of them are ready. */
  async untilRolledOut(image = FIRST_RELEASE, replicas = 2): Promise<void> {
    const key = { namespace: this.#world.operatorNamespace, name: NAME }
    await this.#world.until(`${replicas} ready replicas of ${image}`, () => {
      const deployment = this.#world.mirror.deployments.get(`${key.namespace}/${key.name}`) as Deployment | undefined
      const { updatedReplicas, readyReplicas, replicas: all } = deployment?.status ?? {}
      const current = this.pods.every((pod) => JSON.stringify(pod).includes(image))
      return current && [updatedReplicas, readyReplicas, all].every((count) => count === replicas)
    })
  }

  async untilLeading(isMeant: (pod: string) => boolean = () => true): Promise<string> {
    return await this.#world.until('a leader', () => {
      const { leader } = this
      return leader !== undefined && leader !== '' && isMeant(leader) ? leader : undefined
    })
  }

  /** Takes the operator away, so that nobody is left to do its work. */
  async removeOperator(): Promise<void> {
    await this.#world.client.delete(DEPLOYMENT, { namespace: this.#world.operatorNamespace, name: NAME })
    await this.#world.until('no replica is left', () => this.pods.length === 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // While there is a node: nobody else lets its pods go, and their namespace waits for them.
    await this.removeOperator().catch(() => undefined)
    await this.#pods?.stop()
    await this.admin[Symbol.asyncDispose]()
  }
}

/** By kind and name with its uid: what no removal of the operator may touch. Throws where one of them is being deleted. */
export function belongings({ mirror, namespace }: World): Record<string, string | undefined> {
  const { images, snapshots, dataSources, machines, kubevirtMachines, instances, dataVolumes, claims } = mirror
  const stores = [images, snapshots, dataSources, machines, kubevirtMachines, instances, dataVolumes, claims]
  const namespaced = stores
    .flatMap((store) => [...(store.values() as IterableIterator<KubeObject>)])
    // CDI lets its own claims go when a download is over.
    .filter(({ metadata }) => metadata.namespace === namespace && !metadata.name.startsWith('prime-'))
  const ours = [...mirror.definitions.values()].filter(({ metadata }) => metadata.name.endsWith('.pelotech.ot'))
  const kept = [...namespaced, ...ours, ...[mirror.namespaces.get('vmdi-farm') ?? []].flat()]
  expect(kept.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  return Object.fromEntries(
    kept.map(({ apiVersion, kind, metadata }) => [
      `${kind}.${apiVersion.split('/')[0]} ${metadata.name}`,
      metadata.uid,
    ]),
  )
}

/** What the Dockerfile starts, with the bundle where the image has it. */
export async function entryOf(bundle: string): Promise<ContainerImage> {
  const text = await readFile(DOCKERFILE, 'utf8')
  const words = JSON.parse(text.match(/^ENTRYPOINT (\[.*\])$/m)?.[1] ?? '[]') as string[]
  const entrypoint = words.map((word, at) => (at === 0 ? process.execPath : word.endsWith('.mjs') ? bundle : word))
  if (!entrypoint.includes(bundle)) throw new Error('the ENTRYPOINT of the Dockerfile does not start the operator')
  const env = [...text.matchAll(/^ENV (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])
  return { entrypoint, env: Object.fromEntries(env) }
}

/** Where the API server has an object. */
export function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const singular = kind.toLowerCase()
  const plural = singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`
}
