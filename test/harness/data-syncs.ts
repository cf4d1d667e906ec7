import type { DataSyncSpecInput } from '@open-terrain/constructs'
import { apiVersionOf, keyOf } from '../../operator/kube/kube-object.ts'
import { currentIf, DATA_SYNC, type DataSync } from './kinds.ts'
import { SNAPSHOTS, STORAGE, type World } from './world.ts'

/** Actions of people and pipelines on DataSyncs in a {@link World}, and what they observe. */
export class DataSyncs {
  readonly #world: World
  readonly #namespace: string

  constructor(world: World, namespace = world.namespace) {
    this.#world = world
    this.#namespace = namespace
  }

  /** Creates a DataSync of workspace 035 with one vm per name. `spec` overrides fields. */
  async create(name: string, vms: readonly string[], spec: Partial<DataSyncSpecInput> = {}): Promise<DataSync> {
    const metadata = { namespace: this.#namespace, name }
    const object = { apiVersion: apiVersionOf(DATA_SYNC), kind: DATA_SYNC.kind, metadata }
    const shared = { sourceType: 'http', diskSize: '16Mi', storageClass: STORAGE, snapshotClass: SNAPSHOTS } as const
    const usual = { workspaceId: '035', vms: vms.map((vm) => this.vm(vm)), ...shared }
    return await this.#world.client.create<DataSync>(DATA_SYNC, { ...object, spec: { ...usual, ...spec } })
  }

  vm(name: string, file = name): DataSyncSpecInput['vms'][number] {
    return { name, url: this.#world.urlOf(file, this.#namespace) }
  }

  async patch(name: string, patch: object): Promise<void> {
    await this.#world.client.mergePatch(DATA_SYNC, { namespace: this.#namespace, name }, patch)
  }

  async delete(...names: readonly string[]): Promise<void> {
    const namespace = this.#namespace
    for (const name of names) await this.#world.client.delete(DATA_SYNC, { namespace, name })
    await this.#world.until('the DataSyncs are gone', () => names.every((name) => this.get(name) === undefined))
  }

  get(name: string): DataSync | undefined {
    return this.#world.mirror.dataSyncs.get(keyOf({ namespace: this.#namespace, name }))
  }

  /** Ignores a status that does not reflect the current generation. */
  async until(name: string, what: string, holds: (dataSync: DataSync) => boolean): Promise<DataSync> {
    const seen = () => JSON.stringify([...this.#world.mirror.dataSyncs.values()].map(({ status }) => status))
    const look = () => currentIf(this.get(name), holds)
    return await this.#world.mirror.until(
      `DataSync ${name}: ${what}`,
      look,
      () => `${seen()}\n${this.#world.describe()}`,
    )
  }

  async untilReason(name: string, phase: string, reason: string): Promise<DataSync> {
    return await this.until(
      name,
      `${phase}, ${reason}`,
      ({ status }) => status?.phase === phase && status.reason === reason,
    )
  }

  /** The names in the image's `status.references`. */
  referencesOf(image: string): readonly string[] {
    return this.#world.getImage(image, this.#namespace)?.status?.references?.names ?? []
  }
}
