import { vmDiskImage } from '@open-terrain/constructs/operator'
import {
  BY_CLONE_SOURCE,
  BY_NAMESPACE,
  byNamespace,
  ofImageOrMachine,
  ofWorkspaceOrMachine,
} from '../../../operator/cluster/caches.ts'
import { unfinishedCloneOf } from '../../../operator/cluster/clone-sources.ts'
import { BY_OWNER } from '../../../operator/cluster/ownership.ts'
import type { QuotaView } from '../../../operator/cluster/quotas.ts'
import type { StorageClassView } from '../../../operator/cluster/views.ts'
import { MachineCaches } from '../../../operator/controllers/virtual-machine/caches.ts'
import type { CloneFacts } from '../../../operator/controllers/virtual-machine/world.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { Reflectors } from '../../../operator/runtime/reflectors.ts'
import { Store } from '../../../operator/runtime/store.ts'
import { apiError } from '../kube/api-error.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from '../runtime/fake-log.ts'

/** Caches that a test fills by hand. */
export class CachesBench {
  readonly client = new ScriptedClient()
  readonly images = new Store<ImageView>()
  readonly dataVolumes = new Store<CloneFacts>()
    .index(BY_OWNER, ofImageOrMachine)
    .index(BY_CLONE_SOURCE, unfinishedCloneOf)
  readonly claims = new Store<KubeObject>().index(BY_OWNER, ofWorkspaceOrMachine)
  readonly snapshots = new Store<KubeObject>()
  readonly dataSources = new Store<KubeObject>()
  readonly secrets = new Store<KubeObject>()
  readonly namespaces = new Store<KubeObject>()
  readonly storageClasses = new Store<StorageClassView>()
  readonly quotas = new Store<QuotaView>().index(BY_NAMESPACE, byNamespace)
  /** Whether the cluster serves DataVolumes. */
  hasDataVolumes = true
  readonly reflectors: Reflectors
  readonly caches: MachineCaches
  #version = 1_000

  constructor() {
    const { client, images, dataVolumes, claims, snapshots, dataSources, secrets, namespaces, storageClasses, quotas } =
      this
    client.before = ({ kind }) => {
      if (kind === DATA_VOLUME.kind && !this.hasDataVolumes) throw apiError('NotFound')
    }
    const { clock } = client
    this.reflectors = new Reflectors({ client, clock, random: () => 0, log: fakeLog(), onRelist: () => undefined })
    this.reflectors.add(DATA_VOLUME, dataVolumes, (object) => object as CloneFacts)
    this.reflectors.add(vmDiskImage, images, (object) => object as ImageView)
    const cluster = { dataVolumes, claims, snapshots, dataSources, secrets, namespaces, storageClasses, quotas }
    this.caches = new MachineCaches(this.reflectors, images, cluster)
    // A test fills the caches by hand, so they count as complete.
    Object.defineProperty(this.caches, 'isComplete', { value: true })
  }

  /** Stores an object as a watch event does: with a newer version than all before. */
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

  /** Fills the caches from the cluster once. */
  async look(): Promise<void> {
    const stopping = new AbortController()
    this.reflectors.need([KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE])
    const running = this.reflectors.run(stopping.signal)
    await this.reflectors.synced()
    stopping.abort()
    await running
  }
}

export function aNamespace(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid of ${name}`, ...more } }
}
