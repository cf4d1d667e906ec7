import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import { systemClock } from '../../operator/runtime/clock.ts'
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
  type Workspace,
} from './kinds.ts'
import { silentLog } from './log.ts'
import { Waiting } from './waiting.ts'

/** What takes so long hangs, on a machine of any speed: no verdict depends on it. */
export const HANGS_AFTER_MS = 5 * 60_000

/** A copy of the cluster, kept by watches of its own, in which tests wait for states. */
export class Mirror {
  readonly images = new Store<Image>()
  readonly dataVolumes = new Store<DataVolume>()
  readonly claims = new Store<Claim>()
  readonly pods = new Store<KubeObject>()
  readonly snapshots = new Store<Snapshot>()
  readonly dataSources = new Store<DataSource>()
  readonly machines = new Store<Machine>()
  readonly dataSyncs = new Store<DataSync>()
  readonly workspaces = new Store<Workspace>()
  readonly deployments = new Store<KubeObject>()
  readonly networks = new Store<KubeObject>()
  readonly kubevirtMachines = new Store<KubeVirtMachine>()
  readonly instances = new Store<Instance>()
  readonly secrets = new Store<Secret>()
  readonly configMaps = new Store<ConfigMap>()
  readonly namespaces = new Store<KubeObject>()
  readonly definitions = new Store<KubeObject>()
  readonly leases = new Store<Lease>()
  readonly events = new Store<KubeEvent>()
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #waiting = new Waiting()
  readonly #inventory: readonly (readonly [ResourceType, Store<KubeObject>])[]

  private constructor() {
    const inventory: [ResourceType, Store<never>][] = [
      [IMAGE, this.images],
      [types.DATA_VOLUME, this.dataVolumes],
      [types.PERSISTENT_VOLUME_CLAIM, this.claims],
      [types.POD, this.pods],
      [types.VOLUME_SNAPSHOT, this.snapshots],
      [types.DATA_SOURCE, this.dataSources],
      [MACHINE, this.machines],
      [DATA_SYNC, this.dataSyncs],
      [WORKSPACE, this.workspaces],
      [types.DEPLOYMENT, this.deployments],
      [types.NETWORK_ATTACHMENT_DEFINITION, this.networks],
      [types.KUBEVIRT_VIRTUAL_MACHINE, this.kubevirtMachines],
      [types.VIRTUAL_MACHINE_INSTANCE, this.instances],
      [types.SECRET, this.secrets],
      [types.CONFIG_MAP, this.configMaps],
      [types.NAMESPACE, this.namespaces],
      [types.CUSTOM_RESOURCE_DEFINITION, this.definitions],
      [types.LEASE, this.leases],
      [types.EVENT, this.events],
    ] as never
    this.#inventory = inventory as never
  }

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

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.allSettled(this.#running)
  }

  /**
   * Resolves with what `look` returns as soon as that is neither undefined nor false, looking again at each change in
   * the cluster. Rejects when that hangs, saying what was waited for and what was seen instead.
   */
  async until<T>(what: string, look: () => T | undefined | false, seen: () => string): Promise<T> {
    const late = new Error(`waited ${HANGS_AFTER_MS / 1_000} s in vain for ${what}`)
    return await this.#waiting.until(look, HANGS_AFTER_MS, () => {
      late.message += `; seen instead:\n${seen()}`
      return late
    })
  }

  /** Looks again for those who wait for something that no object tells. */
  nudge(): void {
    this.#waiting.wake()
  }
}
