import { randomBytes } from 'node:crypto'
import type { VMDiskImageSpecInput } from '@open-terrain/constructs'
import { OPERATOR_NAMESPACE, POLICY_NAME } from '@open-terrain/constructs/operator'
import { inject } from 'vitest'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE, SECRET } from '../../operator/kube/resource-types.ts'
import { ignoreNotFound } from '../harness/grounds.ts'
import { IMAGE, type Image, reasonOf } from '../harness/kinds.ts'
import { LogBook } from '../harness/log.ts'
import { Mirror } from '../harness/mirror.ts'
import { operatorAccount, removeConfinement } from '../harness/operator-account.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { inNamespaces, leftovers } from '../harness/own-objects.ts'
import type { RealCluster } from './real-cluster.ts'

/** A path at the web server for images, or what else a spec says. */
export type Source = string | Partial<VMDiskImageSpecInput>

/** The namespaces of one test on a cluster that really runs things, with an operator of its own: a process with the rights of an installation. */
export class NodeStage implements AsyncDisposable {
  readonly cluster: RealCluster
  readonly mirror: Mirror
  readonly namespace: string
  readonly operatorNamespace: string
  readonly logs = new LogBook()
  readonly #own: readonly string[]
  #operator: OperatorProcess | undefined
  #kubeconfig = ''

  private constructor(cluster: RealCluster, mirror: Mirror, installed?: string) {
    const id = randomBytes(3).toString('hex')
    this.cluster = cluster
    this.mirror = mirror
    this.namespace = `images-${id}`
    this.operatorNamespace = installed ?? `operator-${id}`
    this.#own = [this.namespace, ...(installed === undefined ? [this.operatorNamespace] : [])]
  }

  /** Without an operator of its own: the test installs one in the namespace of an installation. */
  static async startIdle(cluster: RealCluster): Promise<NodeStage> {
    const stage = new NodeStage(cluster, await Mirror.start(cluster.client), OPERATOR_NAMESPACE)
    await stage.#createNamespaces()
    return stage
  }

  static async start(cluster: RealCluster, policy: Readonly<Record<string, string>> = {}): Promise<NodeStage> {
    const stage = new NodeStage(cluster, await Mirror.start(cluster.client))
    await stage.#createNamespaces()
    await cluster.client.create(CONFIG_MAP, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: stage.operatorNamespace, name: POLICY_NAME },
      data: {
        allowedSourceUrls: [`${cluster.sourceUrl}/`, ...otherPrefixes(cluster)].join('\n'),
        retryLimit: '0',
        concurrency: '2',
        ...policy,
      },
    } as KubeObject)
    stage.#kubeconfig = await operatorAccount(cluster, cluster.client, stage.operatorNamespace)
    stage.startOperator()
    return stage
  }

  get client(): HttpKubeClient {
    return this.cluster.client
  }

  async #createNamespaces(): Promise<void> {
    for (const name of this.#own) {
      await this.cluster.client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    }
  }

  startOperator(): OperatorProcess {
    const surroundings = {
      cluster: { controlPlane: this.cluster.controlPlane },
      operatorNamespace: this.operatorNamespace,
      operatorKubeconfig: this.#kubeconfig,
      logs: this.logs,
    }
    this.#operator = new OperatorProcess(surroundings, 'operator', { entry: inject('operatorBundle') })
    return this.#operator
  }

  /** Kills the operator, and starts another one. */
  async replaceOperator(): Promise<void> {
    await this.killOperator()
    this.startOperator()
  }

  async killOperator(): Promise<void> {
    await this.#operator?.kill()
  }

  async setPolicy(data: Readonly<Record<string, string>>): Promise<void> {
    const key = { namespace: this.operatorNamespace, name: POLICY_NAME }
    await this.cluster.client.mergePatch(CONFIG_MAP, key, { data })
  }

  async createImage(
    name: string,
    source: Source,
    more: Partial<VMDiskImageSpecInput> = {},
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const from = typeof source === 'string' ? { url: `${this.cluster.sourceUrl}/${source}` } : source
    await this.cluster.client.create(IMAGE, {
      apiVersion: apiVersionOf(IMAGE),
      kind: IMAGE.kind,
      metadata: { namespace: this.namespace, name, annotations },
      spec: {
        sourceType: 'http',
        diskSize: '64Mi',
        storageClass: this.cluster.storageClass,
        ...from,
        ...more,
      },
    } as KubeObject)
  }

  /** Creates a Secret with the keys of an S3 server, which takes any. */
  async createKeys(name: string): Promise<void> {
    const stringData = { accessKeyId: 'somebody', secretKey: 'something' }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: this.keyOf(name), stringData }
    await this.cluster.client.create(SECRET, secret as KubeObject)
  }

  keyOf(name: string): { readonly namespace: string; readonly name: string } {
    return { namespace: this.namespace, name }
  }

  async deleteImage(name: string): Promise<void> {
    await this.cluster.client.delete(IMAGE, this.keyOf(name))
  }

  imageOf(name: string): Image | undefined {
    return this.mirror.images.get(`${this.namespace}/${name}`)
  }

  async untilImage<T>(name: string, what: string, probe: (image: Image) => T | undefined | false): Promise<T> {
    const all = () => {
      const image = this.imageOf(name)
      return image === undefined ? undefined : probe(image)
    }
    return await this.until(`image ${name}: ${what}`, all)
  }

  async until<T>(what: string, probe: () => T | undefined | false): Promise<T> {
    return await this.mirror.until(what, probe, () => this.seen())
  }

  /** Resolves when an attempt has ended for good, with the reason. */
  async untilDecided(name: string): Promise<string> {
    return await this.untilImage(name, 'synced or failed', (image) => {
      const phase = image.status?.phase
      return (phase === 'Succeeded' || phase === 'Failed') && reasonOf(image)
    })
  }

  /** Resolves with the volume of a claim. CDI tells `Succeeded` before the claim has it. */
  async untilVolume(claim: string): Promise<string> {
    return await this.until(`claim ${claim} has its volume`, () => {
      const { spec, status } = this.mirror.claims.get(`${this.namespace}/${claim}`) ?? {}
      return status?.phase === 'Bound' && spec?.volumeName
    })
  }

  /** Removes all images, and waits until nothing is left of them. */
  async finish(): Promise<void> {
    for (const image of inNamespaces(this.mirror.images, [this.namespace])) {
      await this.cluster.client.delete(IMAGE, image.metadata).catch(ignoreNotFound)
    }
    await this.untilEmpty()
  }

  /** Resolves when the ledger shows no holders. */
  async untilNoSlots(): Promise<void> {
    const ledger = () => this.mirror.configMaps.get(`${this.operatorNamespace}/${LEDGER_NAME}`)
    const probe = () => ledger()?.data?.['holders'] === '[]'
    await this.mirror.until('no slot is held', probe, () => JSON.stringify(ledger()?.data))
  }

  async untilEmpty(): Promise<void> {
    const probe = () => leftovers(this.mirror, [this.namespace]).length === 0
    await this.until('nothing is left', probe)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]()
    for (const name of this.#own) {
      for (const image of inNamespaces(this.mirror.images, [name])) {
        await this.cluster.client.mergePatch(IMAGE, image.metadata, { metadata: { finalizers: null } }).catch(() => {})
      }
      await this.cluster.client.delete(NAMESPACE, { name }).catch(ignoreNotFound)
    }
    // Another test may install an operator of another version.
    await removeConfinement(this.cluster.client, this.operatorNamespace)
    await this.mirror.stop()
  }

  seen(): string {
    const images = inNamespaces(this.mirror.images, [this.namespace])
    return JSON.stringify(
      {
        images: images.map(({ metadata, status }) => ({ name: metadata.name, status })),
        left: leftovers(this.mirror, [this.namespace]),
        pods: inNamespaces(this.mirror.pods, [this.namespace]).map(traceOf),
        claims: inNamespaces(this.mirror.claims, [this.namespace]).map(traceOf),
        log: this.logs.lines.slice(-20),
      },
      undefined,
      1,
    )
  }
}

function otherPrefixes({ others }: RealCluster): string[] {
  return others === undefined ? [] : [`${others.s3Url}/`, others.registryUrl]
}

/** What shows why an object is still there. */
function traceOf({ metadata, ...rest }: KubeObject): object {
  const { name, uid, creationTimestamp, deletionTimestamp, finalizers, ownerReferences, annotations } = metadata
  const { spec, status } = rest as { readonly spec?: { readonly nodeName?: string }; readonly status?: object }
  return {
    name,
    uid,
    creationTimestamp,
    deletionTimestamp,
    finalizers,
    ownerReferences,
    annotations,
    on: spec?.nodeName,
    status,
  }
}
