import { vmDiskImage } from '@open-terrain/constructs'
import { apiError, FakeClient } from '../../kube/fake-client.fixtures.ts'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import { fakeLog } from '../../runtime/fake-log.fixtures.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import { MachineCaches, type SharedCaches } from './caches.ts'
import type { CloneFacts, ImageFacts, StorageClassFacts } from './views.ts'

/** Caches that a test fills by hand. */
export class CachesBench {
  readonly client = new FakeClient()
  readonly images = new Store<ImageFacts>()
  readonly dataVolumes = new Store<CloneFacts>()
  readonly claims = new Store<KubeObject>()
  readonly snapshots = new Store<KubeObject>()
  readonly dataSources = new Store<KubeObject>()
  readonly secrets = new Store<KubeObject>()
  readonly namespaces = new Store<KubeObject>()
  readonly storageClasses = new Store<StorageClassFacts>()
  /** Whether the cluster serves DataVolumes. */
  hasDataVolumes = true
  readonly reflectors: Reflectors
  readonly caches: MachineCaches
  #version = 1_000

  constructor() {
    const { client, images, dataVolumes, claims, snapshots, dataSources, secrets, namespaces, storageClasses } = this
    client.before = ({ kind }) => {
      if (kind === DATA_VOLUME.kind && !this.hasDataVolumes) throw apiError('NotFound')
    }
    const clock = new FakeClock()
    this.reflectors = new Reflectors({ client, clock, random: () => 0, log: fakeLog(), onRelist: () => undefined })
    this.reflectors.add(DATA_VOLUME, dataVolumes, (object) => object as CloneFacts)
    this.reflectors.add(vmDiskImage, images, (object) => object as ImageFacts)
    const found = { images, dataVolumes, claims, snapshots, dataSources }
    const shared: SharedCaches = { ...found, secrets, namespaces, storageClasses }
    this.caches = new MachineCaches(this.reflectors, shared)
  }

  /** An object as its watch sends it: newer than all before. */
  put<T extends KubeObject>(store: Store<T>, object: T): T {
    this.#version += 1
    const newer = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
    store.put(newer)
    return newer
  }

  drop<T extends KubeObject>(store: Store<T>, object: T): void {
    this.#version += 1
    store.remove({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } })
  }

  /** Has the caches look at the cluster once. */
  async look(): Promise<void> {
    const stopping = new AbortController()
    const running = this.reflectors.run(stopping.signal)
    await this.reflectors.synced()
    stopping.abort()
    await running
  }
}

export function aNamespace(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid of ${name}`, ...more } }
}
