import { randomBytes } from 'node:crypto'
import { POLICY_NAME, POLICY_STATUS_NAME } from '@open-terrain/constructs/operator'
import { expect } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { persist } from './persist.ts'

/** The form of a certificate; nothing here checks more. */
export const A_CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
export const STORAGE = 'fast'
export const SNAPSHOTS = 'snap'
/** Config of a network on which guests configure their own addresses. */
export const NETWORK_CONFIG = '{"cniVersion":"1.0.0","name":"lab","type":"bridge","bridge":"lab0","ipam":{}}'

/** Names of the namespaces of images and of the operator. */
export interface WorldNames {
  readonly images: string
  readonly operator: string
}

/** Returns names that no other world has. */
export function newNames(): WorldNames {
  const id = randomBytes(3).toString('hex')
  return { images: `images-${id}`, operator: `operator-${id}` }
}

/** The objects that people create and that images and machines need: namespaces, classes, the policy, Secrets and networks. */
export class Grounds {
  readonly cluster: Cluster
  readonly client: HttpKubeClient
  /** Namespace of the images. */
  readonly namespace: string
  readonly operatorNamespace: string
  readonly namespaces: string[] = []

  constructor({ cluster, client, names }: { cluster: Cluster; client: HttpKubeClient; names: WorldNames }) {
    this.cluster = cluster
    this.client = client
    this.namespace = names.images
    this.operatorNamespace = names.operator
  }

  async setPolicy(data: Readonly<Record<string, string>>, namespace = this.operatorNamespace): Promise<void> {
    const metadata = { namespace, name: POLICY_NAME }
    const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    try {
      await this.client.create(CONFIG_MAP, wanted)
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
      const { resourceVersion } = (await this.client.get(CONFIG_MAP, metadata)).metadata
      const version = resourceVersion === undefined ? {} : { resourceVersion }
      await this.client.replace(CONFIG_MAP, { ...wanted, metadata: { ...metadata, ...version } })
    }
  }

  /**
   * Sets the policy, and resolves when an operator has said that all of these values are in force. Watches of several kinds are not ordered: what is changed
   * after `setPolicy` alone may be seen before the policy.
   */
  async changePolicy(data: Readonly<Record<string, string>>): Promise<void> {
    await this.setPolicy(data)
    const status = { namespace: this.operatorNamespace, name: POLICY_STATUS_NAME }
    const inForce = async () => {
      const { data: said } = (await this.client.get(CONFIG_MAP, status)) as KubeObject & {
        data?: Record<string, string>
      }
      return said?.values?.split('\n')
    }
    const wanted = Object.entries(data).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    await expect.poll(inForce).toEqual(expect.arrayContaining(wanted))
  }

  async createNamespace(name: string): Promise<void> {
    await this.client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    this.namespaces.push(name)
  }

  async createSecret(name: string): Promise<void> {
    const metadata = { namespace: this.namespace, name }
    const stringData = { accessKeyId: 'id', secretKey: 'very-secret-key' }
    await this.client.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, stringData } as KubeObject)
  }

  async createConfigMap(name: string): Promise<void> {
    const metadata = { namespace: this.namespace, name }
    await this.client.create(CONFIG_MAP, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { 'ca.crt': A_CERTIFICATE },
    } as KubeObject)
  }

  async createStorageClass(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    const manifest = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name, annotations } }
    await this.#ensure(STORAGE_CLASS, { ...manifest, provisioner: 'sandbox.example.com' } as KubeObject)
  }

  /** Creates a network that an interface of a machine can refer to. */
  async createNetwork(name: string, namespace = this.namespace): Promise<void> {
    const [type, metadata] = [NETWORK_ATTACHMENT_DEFINITION, { namespace, name }]
    const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec: { config: NETWORK_CONFIG } }
    await this.client.create(type, object as KubeObject)
  }

  async createSnapshotClass(name: string, driver = 'sandbox.example.com'): Promise<void> {
    const manifest = { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotClass', metadata: { name } }
    const rest = { driver, deletionPolicy: 'Delete' }
    await this.#ensure(VOLUME_SNAPSHOT_CLASS, { ...manifest, ...rest } as KubeObject)
  }

  /** Creates the classes that images use by default. */
  async createClasses(): Promise<void> {
    await this.createStorageClass(STORAGE)
    if (this.cluster.foreign.crds.length > 0) await this.createSnapshotClass(SNAPSHOTS).catch(ignoreNotFound)
  }

  /** Waits until a kind is served, which happens a moment after its installation. */
  async untilServed(type: ResourceType): Promise<void> {
    await persist(`${type.plural} are served`, ['NotFound', 'Unavailable'], () => this.client.list(type))
  }

  async #ensure(type: ResourceType, object: KubeObject): Promise<void> {
    await this.client.create(type, object).catch(ignoreExisting)
  }
}

export function ignoreExisting(error: unknown): void {
  if (!isApiError(error, 'AlreadyExists')) throw error
}

export function ignoreNotFound(error: unknown): void {
  if (!isApiError(error, 'NotFound')) throw error
}
