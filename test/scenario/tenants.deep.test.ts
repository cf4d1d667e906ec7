import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { childName, MANAGER } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type ResourceType,
} from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { heldDownload } from '../harness/held-download.ts'
import { type Image, reasonOf } from '../harness/kinds.ts'
import { persist } from '../harness/persist.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

// Objects that a user with all permissions in their own namespace can create there, with any label, name, owner and finalizer.

const KEEP = 'tenant.example.com/keep'
const UPLOAD = {
  source: { upload: {} },
  storage: { resources: { requests: { storage: '16Mi' } }, accessModes: ['ReadWriteOnce'] },
}
const SPECS = {
  Pod: { containers: [{ name: 'idle', image: 'idle' }] },
  PersistentVolumeClaim: { ...UPLOAD.storage, storageClassName: 'somebody-elses' },
  // No simulator handles this kind of source, so it stays unchanged.
  DataVolume: UPLOAD,
  VolumeSnapshot: { source: { persistentVolumeClaimName: 'somebody-elses' } },
} as const

const ownedBy = ({ apiVersion, kind, metadata }: KubeObject, change: Partial<OwnerReference> = {}): OwnerReference => {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, ...change }
}

/** All labels of a child of this image. */
const labelsOf = ({ metadata, status }: Image) => ({
  [LABELS.imageUid]: metadata.uid ?? '',
  [LABELS.imageName]: metadata.name,
  [LABELS.revision]: status?.revision ?? '',
  [LABELS.managedBy]: MANAGER,
})

/** A tenant. At the end, {@link clear} removes the objects that it created, if they still exist. */
class Tenant {
  readonly #world: World
  readonly namespace: string
  readonly #made: { readonly type: ResourceType; readonly object: KubeObject }[] = []

  private constructor(world: World, namespace: string) {
    this.#world = world
    this.namespace = namespace
  }

  static async in(world: World): Promise<Tenant> {
    const namespace = `${world.namespace}-tenant`
    await world.createNamespace(namespace)
    return new Tenant(world, namespace)
  }

  async forge(type: ResourceType, metadata: Partial<ObjectMeta>, more: object = {}): Promise<KubeObject> {
    const spec = SPECS[type.kind as keyof typeof SPECS]
    const object = await this.#world.client.create(type, {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { namespace: this.namespace, name: `forged-${this.#made.length}`, ...metadata },
      spec,
      ...more,
    } as KubeObject)
    this.#made.push({ type, object })
    return object
  }

  /** Retries, because controllers write the object at the same time. */
  async report(type: ResourceType, { metadata }: KubeObject, status: object): Promise<void> {
    await persist('the status is written', ['Conflict'], async () => {
      const object = await this.#world.client.get(type, metadata)
      return await this.#world.client.replaceStatus(type, { ...object, status } as KubeObject)
    })
  }

  /** Ends a test that went well. */
  async finish(): Promise<void> {
    await this.clear()
    await this.#world.finish({ forgers: [this.namespace] })
  }

  async clear(): Promise<void> {
    for (const { type, object } of this.#made) {
      await this.#world.client
        .mergePatch(type, object.metadata, { metadata: { finalizers: null } })
        .catch(() => undefined)
      await this.#world.client.delete(type, object.metadata, { propagationPolicy: 'Background' }).catch(() => undefined)
    }
  }
}

describe('a tenant who forges objects', () => {
  it('fails, ends and holds up no download of others with pods, and frees the slot of their own image when that is deleted', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
    const tenant = await Tenant.in(world)
    const release = await heldDownload(world, 'victim')
    const victim = world.getImage('victim') as Image
    const labels = labelsOf(victim)
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'prime-x', uid: 'prime-x', controller: true }
    await tenant.forge(POD, { labels })
    await tenant.forge(POD, { labels, ownerReferences: [claim] })
    await tenant.forge(POD, { labels, ownerReferences: [ownedBy(victim)], finalizers: [KEEP] })
    await tenant.forge(POD, { namespace: world.namespace, labels })
    await world.untilRenewed(2)
    release()
    const synced = await world.untilSynced('victim')
    expect(synced.status?.attempts?.map(({ outcome, downloads }) => [outcome, downloads])).toEqual([['Succeeded', 1]])
    await world.deleteImage('victim')
    await world.untilGone('victim')

    world.gate.hold(world.urlOf('own'))
    await world.createImage('own', {}, { namespace: tenant.namespace })
    await world.until(
      'the download of the tenant',
      () => world.getImage('own', tenant.namespace)?.status?.phase === 'Syncing',
    )
    const own = world.getImage('own', tenant.namespace) as Image
    for (const name of ['a', 'b']) await tenant.forge(POD, { name, labels: labelsOf(own) })
    await world.queueImage('next')
    await world.deleteImage('own', tenant.namespace)
    await world.untilGone('own', tenant.namespace)
    await world.untilSynced('next')
    await tenant.finish()
  })

  it('takes no artifact from an image of somebody else with its children, gives it none, and takes no slot, though they go on', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    const tenant = await Tenant.in(world)
    const release = world.gate.hold(world.urlOf('running'))
    await world.createImage('done')
    await world.createImage('running')
    await world.untilSynced('done')
    await world.untilDownloading('running')
    for (const name of ['done', 'running']) {
      const image = world.getImage(name) as Image
      const child = { name: childName(name, image.status?.revision ?? ''), labels: labelsOf(image) }
      // The garbage collector deletes an object with an owner in another namespace. The tenant's finalizer keeps it.
      const owned = { ...child, ownerReferences: [ownedBy(image)], finalizers: [KEEP] }
      await tenant.forge(DATA_VOLUME, owned)
      const snapshot = await tenant.forge(VOLUME_SNAPSHOT, owned)
      await tenant.report(VOLUME_SNAPSHOT, snapshot, { readyToUse: true })
      await tenant.forge(PERSISTENT_VOLUME_CLAIM, owned)
    }
    await world.untilRenewed(2)
    const done = world.getImage('done')
    expect([done?.status?.phase, done?.status?.artifact?.kind]).toEqual(['Succeeded', 'VolumeSnapshot'])
    const running = world.getImage('running') as Image
    expect([running.status?.phase, reasonOf(running), running.status?.artifact]).toEqual([
      'Syncing',
      'Syncing',
      undefined,
    ])

    // One slot is left for others, which they get beside DataVolumes of any owner.
    const own = await world.createImage('own', { suspend: true }, { namespace: tenant.namespace })
    const labels = { [LABELS.managedBy]: MANAGER, [LABELS.revision]: '01234567' }
    const owners = [
      ownedBy(own, { name: 'nobody', uid: '00000000-0000-4000-8000-000000000000' }),
      ownedBy(own, { apiVersion: 'nope.example/v1' }),
      ownedBy(own),
    ]
    for (const owner of owners) await tenant.forge(DATA_VOLUME, { labels, ownerReferences: [owner] })
    await tenant.forge(DATA_VOLUME, { labels: { ...labels, [LABELS.imageUid]: own.metadata.uid ?? '' } })
    const forged = { labels: labelsOf(own), ownerReferences: [ownedBy(own)], finalizers: [KEEP] }
    await tenant.forge(DATA_VOLUME, forged)
    await world.createImage('honest')
    let isSynced = false
    const forge = async () => {
      for (; !isSynced; await world.untilRenewed(1)) await tenant.forge(DATA_VOLUME, forged)
    }
    const forging = forge()
    await world.untilSynced('honest').finally(() => {
      isSynced = true
    })
    await forging

    release()
    const synced = await world.untilSynced('running')
    expect(synced.status?.attempts?.map(({ outcome }) => outcome)).toEqual(['Succeeded'])
    for (const name of ['done', 'running']) await world.deleteImage(name)
    for (const name of ['done', 'running']) await world.untilGone(name)
    await tenant.finish()
  })
})

describe('a tenant whose DataSync has the name, the workspace and the vms of somebody else’s', () => {
  it('neither reads, changes, counts nor removes images of the other namespace', async () => {
    const policy = { concurrency: '2', retryLimit: '0', reclaimPolicy: 'Delete', unreferencedTTL: '1s' }
    await using world = await World.start(cluster(), { policy })
    const { namespace } = await Tenant.in(world)
    const [ours, theirs] = [new DataSyncs(world), new DataSyncs(world, namespace)]
    const name = '035-attacker'
    await ours.create('lab', ['attacker'])
    await ours.untilSynced('lab')
    await world.untilImage(name, 'one reference', () => ours.referencesOf(name).length === 1)
    await world.untilSynced(name)
    const content = () => {
      const { metadata, spec, status } = world.getImage(name) ?? {}
      const { uid, generation, annotations, deletionTimestamp } = metadata ?? {}
      return { uid, generation, annotations, deletionTimestamp, spec, status }
    }
    const before = content()
    expect(before.status?.references?.names).toEqual([`DataSync/${world.namespace}/lab`])

    const release = world.gate.hold(world.urlOf('attacker', namespace))
    await theirs.create('lab', ['attacker'])
    await theirs.until('lab', 'a download of its own', ({ status }) => status?.counts?.syncing === 1)
    release()
    await theirs.untilSynced('lab')
    await world.until('a reference to their own image', () => theirs.referencesOf(name).length > 0)
    expect(theirs.referencesOf(name)).toEqual([`DataSync/${namespace}/lab`])
    await theirs.patch('lab', {
      metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } },
      spec: { vms: [theirs.vm('attacker', 'newer')] },
    })
    await world.until('the download of the newer one', () => world.downloadsOf(world.urlOf('newer', namespace)) > 0)
    await theirs.untilSynced('lab')
    expect(world.downloads('attacker')).toBe(1)
    await theirs.delete('lab')
    await world.untilGone(name, namespace)
    await world.untilRenewed(1)
    expect(content()).toEqual(before)

    await ours.delete('lab')
    await world.untilGone(name)
    await world.finish()
  })
})
