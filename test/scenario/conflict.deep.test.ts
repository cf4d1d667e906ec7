import { LABELS } from '@open-terrain/constructs'
import { childName, MANAGER } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, reasonOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const SIZE = { resources: { requests: { storage: '16Mi' } } }

/** A finalizer that keeps a deleted object, as protection does while a pod uses it. */
const IN_USE = 'scenario.example.com/in-use'

const CLAIM = { ...SIZE, accessModes: ['ReadWriteOnce'], storageClassName: 'somebody-elses' }

interface Stranger {
  readonly type: ResourceType
  readonly spec: object
  /** Of the image whose child it is in the way of. Dots in it are none in the name of the child. */
  readonly name: string
}

const STRANGERS: readonly Stranger[] = [
  {
    type: DATA_VOLUME,
    // No simulator handles this kind of source, so it stays unchanged.
    spec: { source: { upload: {} }, storage: { ...SIZE, accessModes: ['ReadWriteOnce'] } },
    name: 'wanted-volume',
  },
  { type: PERSISTENT_VOLUME_CLAIM, spec: CLAIM, name: 'ubuntu-24.04' },
  {
    type: VOLUME_SNAPSHOT,
    spec: { source: { persistentVolumeClaimName: 'somebody-elses' } },
    name: 'wanted-snapshot',
  },
]

/** What a DataSource names that serves a claim of somebody else in the same namespace. */
const aliasIn = (namespace: string) => ({ source: { pvc: { name: 'somebody-elses', namespace } } })

describe('a stranger with the name that an image needs', () => {
  const cluster = useCluster()

  it('is reported, left alone, and no longer in the way when it goes', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const met: { readonly name: string; readonly type: ResourceType; readonly stranger: KubeObject }[] = []
    for (const { type, spec, name } of STRANGERS) {
      const child = await nameOfChild(world, name)
      expect(child).not.toContain('.')
      met.push({ name, type, stranger: await makeStranger(world, type, child, spec) })
      await world.patchImage(name, { spec: { suspend: false } })
      const conflicted = await world.untilReason(name, 'NameConflict')
      expect(conditionOf(conflicted, 'Stalled')?.status).toBe('True')
      expect(conflicted.status?.message).toContain(child)
    }
    await world.until('no slot is held', () => !met.some(({ name }) => world.holds(name)))
    await world.syncImage('other')
    for (const { type, stranger } of met) {
      await expectUntouched(world, type, stranger)
      await world.client.delete(type, stranger.metadata)
    }
    for (const { name } of met) {
      await world.untilSynced(name)
      expect(world.downloads(name), name).toBe(1)
    }
    await world.finish({ isOrderChecked: false })
  })

  it('is waited for, without a slot, where it is left over from an earlier life of the image and still in use', async () => {
    const image = 'ubuntu-24.04'
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const name = await nameOfChild(world, image)
    const labels = { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: '00000000-0000-4000-8000-000000000000' }
    const metadata = { namespace: world.namespace, name, labels, finalizers: [IN_USE] }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: CLAIM } as KubeObject
    await world.client.create(PERSISTENT_VOLUME_CLAIM, claim)
    await world.client.delete(PERSISTENT_VOLUME_CLAIM, metadata)
    await world.patchImage(image, { spec: { suspend: false } })

    const waiting = await world.untilReason(image, 'Stopping')
    expect(waiting.status).toMatchObject({ phase: 'Queued', message: expect.stringContaining(name) })
    await world.syncImage('other')
    expect(reasonOf(world.getImage(image))).toBe('Stopping')
    expect(world.holds(image)).toBe(false)
    expect(world.childrenOf(image)).toEqual([])

    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, metadata, { metadata: { finalizers: null } })
    await world.untilSynced(image)
    expect(world.downloads(image)).toBe(1)
    await world.finish()
  })

  it('as a DataSource lets the artifact serve all the same, and survives the deletion of the image', async () => {
    await using world = await World.start(cluster())
    const names = ['wanted', 'doomed']
    const strangers = new Map<string, KubeObject>()
    for (const name of names) {
      const stranger = await makeStranger(world, DATA_SOURCE, name, aliasIn(world.namespace))
      strangers.set(name, stranger)
      await world.createImage(name)
      const image = await world.untilPhase(name, 'Succeeded')
      expect(conditionOf(image, 'Ready')?.status).toBe('True')
      expect(reasonOf(image)).toBe('NameConflict')
    }
    await world.deleteImage('doomed')
    await world.untilGone('doomed')
    for (const stranger of strangers.values()) {
      await expectUntouched(world, DATA_SOURCE, stranger)
      await world.client.delete(DATA_SOURCE, stranger.metadata)
    }
    await world.until('the alias is ours', () => {
      const alias = world.mirror.dataSources.get(`${world.namespace}/wanted`)
      return alias?.metadata.ownerReferences?.[0]?.uid === world.getImage('wanted')?.metadata.uid
    })
    const healed = await world.untilReason('wanted', 'Synced')
    expect(conditionOf(healed, 'Stalled')?.status).toBe('False')
    expect(world.downloads('wanted')).toBe(1)
    await world.finish()
  })
})

/** The name of the image's child. A suspended image shows its revision, but starts nothing. */
async function nameOfChild(world: World, image: string): Promise<string> {
  await world.createImage(image, { suspend: true })
  const { status } = await world.untilImage(image, 'a revision', ({ status }) => status?.revision !== undefined)
  return childName(image, status?.revision ?? '')
}

function makeStranger(world: World, type: ResourceType, name: string, spec: object): Promise<KubeObject> {
  const { group, version, kind } = type
  const apiVersion = group === '' ? version : `${group}/${version}`
  const metadata = { namespace: world.namespace, name, labels: { owner: 'somebody-else' } }
  return world.client.create(type, { apiVersion, kind, metadata, spec } as KubeObject)
}

async function expectUntouched(world: World, type: ResourceType, before: KubeObject): Promise<void> {
  const after = await world.client.get<KubeObject & { spec: unknown }>(type, before.metadata)
  expect(after.metadata).toMatchObject({ uid: before.metadata.uid, labels: { owner: 'somebody-else' } })
  expect(after.metadata.ownerReferences).toBeUndefined()
  expect(after.metadata.deletionTimestamp).toBeUndefined()
  expect(after.spec).toEqual((before as typeof after).spec)
}
