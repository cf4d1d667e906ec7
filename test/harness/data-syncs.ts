import type { DataSyncSpecInput } from '@open-terrain/constructs'
import { DATA_SYNC, type DataSync } from './kinds.ts'
import { SNAPSHOTS, STORAGE, type World } from './world.ts'
import { WorldObjects } from './world-objects.ts'

/** Actions of people and pipelines on DataSyncs in a {@link World}, and what they observe. */
export class DataSyncs extends WorldObjects<DataSync> {
  constructor(world: World, namespace?: string) {
    super(world, DATA_SYNC, world.mirror.dataSyncs, namespace)
  }

  /** Creates a DataSync of workspace 035 with one vm per name. `spec` overrides fields. */
  async create(name: string, vms: readonly string[], spec: Partial<DataSyncSpecInput> = {}): Promise<DataSync> {
    const shared = { sourceType: 'http', diskSize: '16Mi', storageClass: STORAGE, snapshotClass: SNAPSHOTS } as const
    const usual = { workspaceId: '035', vms: vms.map((vm) => this.vm(vm)), ...shared }
    return await this.createObject(name, { ...usual, ...spec })
  }

  vm(name: string, file = name): DataSyncSpecInput['vms'][number] {
    return { name, url: this.world.urlOf(file, this.namespace) }
  }

  async patch(name: string, patch: object): Promise<void> {
    await this.patchObject(name, patch)
  }

  async untilStand(name: string, phase: string, reason: string): Promise<DataSync> {
    return await this.until(
      name,
      `${phase}, ${reason}`,
      ({ status }) => status?.phase === phase && status.reason === reason,
    )
  }

  async untilSynced(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.untilStand(name, 'Succeeded', 'Synced')
  }

  /** The names in the image's `status.references`. */
  referencesOf(image: string): readonly string[] {
    return this.world.getImage(image, this.namespace)?.status?.references?.names ?? []
  }

  protected override describe({ status }: DataSync): string {
    return JSON.stringify(status)
  }
}
