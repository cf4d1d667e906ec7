import { systemClock } from '../../operator/base/clock.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { compareResourceVersions, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import { Reflector } from '../../operator/runtime/reflector.ts'
import { Store } from '../../operator/runtime/store.ts'
import {
  type Claim,
  type ConfigMap,
  DATA_SYNC,
  type DataSource,
  type DataSync,
  type DataVolume,
  IMAGE,
  type Image,
  type Instance,
  type KubeEvent,
  type KubeVirtMachine,
  type Lease,
  MACHINE,
  type Machine,
  type Secret,
  type Snapshot,
  WORKSPACE,
  WORKSPACE_SNAPSHOT,
  type Workspace,
  type WorkspaceSnapshot,
} from './kinds.ts'
import { silentLog } from './log.ts'
import { Waiting } from './waiting.ts'

/** A wait this long is a hang, on a machine of any speed. No verdict depends on it. */
export const HANGS_AFTER_MS = 5 * 60_000

/** Also keeps what was deleted, with the version of the deletion. */
class MirrorStore<T extends KubeObject> extends Store<T> {
  readonly deleted: T[] = []

  override remove(item: T): void {
    this.deleted.push(item)
    super.remove(item)
  }
}

/** A copy of the cluster, maintained by its own watches, in which tests wait for states. */
export class Mirror {
  readonly #inventory: [ResourceType, MirrorStore<KubeObject>][] = []
  readonly images = this.#storeOf<Image>(IMAGE)
  readonly dataVolumes = this.#storeOf<DataVolume>(types.DATA_VOLUME)
  readonly claims = this.#storeOf<Claim>(types.PERSISTENT_VOLUME_CLAIM)
  readonly pods = this.#storeOf<KubeObject>(types.POD)
  readonly snapshots = this.#storeOf<Snapshot>(types.VOLUME_SNAPSHOT)
  readonly dataSources = this.#storeOf<DataSource>(types.DATA_SOURCE)
  readonly machines = this.#storeOf<Machine>(MACHINE)
  readonly dataSyncs = this.#storeOf<DataSync>(DATA_SYNC)
  readonly workspaces = this.#storeOf<Workspace>(WORKSPACE)
  readonly workspaceSnapshots = this.#storeOf<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT)
  readonly deployments = this.#storeOf<KubeObject>(types.DEPLOYMENT)
  readonly networks = this.#storeOf<KubeObject>(types.NETWORK_ATTACHMENT_DEFINITION)
  readonly kubevirtMachines = this.#storeOf<KubeVirtMachine>(types.KUBEVIRT_VIRTUAL_MACHINE)
  readonly instances = this.#storeOf<Instance>(types.VIRTUAL_MACHINE_INSTANCE)
  readonly secrets = this.#storeOf<Secret>(types.SECRET)
  readonly configMaps = this.#storeOf<ConfigMap>(types.CONFIG_MAP)
  readonly namespaces = this.#storeOf<KubeObject>(types.NAMESPACE)
  readonly definitions = this.#storeOf<KubeObject>(types.CUSTOM_RESOURCE_DEFINITION)
  readonly leases = this.#storeOf<Lease>(types.LEASE)
  readonly events = this.#storeOf<KubeEvent>(types.EVENT)
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #waiting = new Waiting()

  static async start(client: KubeClient): Promise<Mirror> {
    const mirror = new Mirror()
    const reflectors = mirror.#inventory.map(([type, store]) => {
      store.onChange(() => mirror.#waiting.wake())
      return new Reflector<KubeObject>({
        client,
        type,
        store,
        project: (object) => object,
        clock: systemClock,
        random: Math.random,
        log: silentLog,
      })
    })
    for (const reflector of reflectors) mirror.#running.push(reflector.run(mirror.#stopping.signal))
    await Promise.all(reflectors.map(({ synced }) => synced))
    return mirror
  }

  #storeOf<T extends KubeObject>(type: ResourceType): MirrorStore<T> {
    const store = new MirrorStore<T>()
    this.#inventory.push([type, store as never])
    return store
  }

  /** What was deleted, in that order: the versions of all kinds count the writes of one etcd. */
  get deleted(): KubeObject[] {
    const version = ({ metadata }: KubeObject) => metadata.resourceVersion ?? '0'
    const deleted = this.#inventory.flatMap(([, store]) => store.deleted)
    return deleted.toSorted((a, b) => compareResourceVersions(version(a), version(b)))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.allSettled(this.#running)
  }

  /**
   * Resolves with the result of `probe` as soon as that is neither undefined nor false. Calls `probe` again at each change in the cluster. Rejects
   * after {@link HANGS_AFTER_MS}, with an error that contains `what` and the result of `seen`.
   */
  async until<T>(what: string, probe: () => T | undefined | false, seen: () => string): Promise<T> {
    const late = new Error(`waited ${HANGS_AFTER_MS / 1_000} s in vain for ${what}`)
    return await this.#waiting.until(probe, HANGS_AFTER_MS, () => {
      late.message += `; seen instead:\n${seen()}`
      return late
    })
  }

  /** Repeats the checks of pending waits, for states that no object shows. */
  nudge(): void {
    this.#waiting.wake()
  }
}
