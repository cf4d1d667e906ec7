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

interface Stranger {
  readonly type: ResourceType
  readonly spec: object
}

const STRANGERS: readonly Stranger[] = [
  // No simulator handles this kind of source, so it stays unchanged.
  { type: DATA_VOLUME, spec: { source: { upload: {} }, storage: { ...SIZE, accessModes: ['ReadWriteOnce'] } } },
  {
    type: PERSISTENT_VOLUME_CLAIM,
    spec: { ...SIZE, accessModes: ['ReadWriteOnce'], storageClassName: 'somebody-elses' },
  },
  { type: VOLUME_SNAPSHOT, spec: { source: { persistentVolumeClaimName: 'somebody-elses' } } },
]

/** What a DataSource names that serves a claim of somebody else in the same namespace. */
const aliasIn = (namespace: string) => ({ source: { pvc: { name: 'somebody-elses', namespace } } })

describe('a stranger with the name that an image needs', () => {
  const cluster = useCluster()

  it.each(STRANGERS)(
    '$type.kind: is reported, left alone, and no longer in the way when it goes',
    async ({ type, spec }) => {
      await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
      const name = await nameOfChild(world)
      const stranger = await makeStranger(world, type, name, spec)
      await world.patchImage('wanted', { spec: { suspend: false } })

      const conflicted = await world.untilReason('wanted', 'NameConflict')
      expect(conditionOf(conflicted, 'Stalled')?.status).toBe('True')
      expect(conflicted.status?.message).toContain(name)
      await world.until('no slot is held', () => !world.holds('wanted'))
      await world.syncImage('other')
      await expectUntouched(world, type, stranger)

      await world.client.delete(type, stranger.metadata)
      await world.untilSynced('wanted')
      expect(world.downloads('wanted')).toBe(1)
      await world.finish()
    },
  )

  it('is reported and left alone also where the name of the image has dots in it', async () => {
    await using world = await World.start(cluster())
    const name = await nameOfChild(world, 'ubuntu-24.04')
    expect(name).not.toContain('.')
    const [, { type, spec }] = STRANGERS as [Stranger, Stranger]
    const stranger = await makeStranger(world, type, name, spec)
    await world.patchImage('ubuntu-24.04', { spec: { suspend: false } })
    await world.untilReason('ubuntu-24.04', 'NameConflict')
    await expectUntouched(world, type, stranger)
    await world.client.delete(type, stranger.metadata)
    await world.untilSynced('ubuntu-24.04')
    expect(world.downloads('ubuntu-24.04')).toBe(1)
    await world.finish()
  })

  it.each(['wanted', 'ubuntu-24.04'])(
    'claim that is left over from an earlier life of image %s and still in use: is waited for, without a slot',
    async (image) => {
      await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
      const name = await nameOfChild(world, image)
      const labels = { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: '00000000-0000-4000-8000-000000000000' }
      const metadata = { namespace: world.namespace, name, labels, finalizers: [IN_USE] }
      const [, { spec }] = STRANGERS as [Stranger, Stranger]
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec } as KubeObject
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
    },
  )

  it('DataSource: the artifact serves all the same', async () => {
    await using world = await World.start(cluster())
    const stranger = await makeStranger(world, DATA_SOURCE, 'wanted', aliasIn(world.namespace))
    await world.createImage('wanted')
    const image = await world.untilPhase('wanted', 'Succeeded')
    expect(conditionOf(image, 'Ready')?.status).toBe('True')
    expect(reasonOf(image)).toBe('NameConflict')
    await expectUntouched(world, DATA_SOURCE, stranger)

    await world.client.delete(DATA_SOURCE, stranger.metadata)
    await world.until('the alias is ours', () => {
      const alias = world.mirror.dataSources.get(`${world.namespace}/wanted`)
      return alias?.metadata.ownerReferences?.[0]?.uid === image.metadata.uid
    })
    const healed = await world.untilReason('wanted', 'Synced')
    expect(conditionOf(healed, 'Stalled')?.status).toBe('False')
    expect(world.downloads('wanted')).toBe(1)
    await world.finish()
  })

  it('survives the deletion of the image', async () => {
    await using world = await World.start(cluster())
    const stranger = await makeStranger(world, DATA_SOURCE, 'wanted', aliasIn(world.namespace))
    await world.createImage('wanted')
    await world.untilPhase('wanted', 'Succeeded')
    await world.deleteImage('wanted')
    await world.untilGone('wanted')
    await expectUntouched(world, DATA_SOURCE, stranger)
    await world.client.delete(DATA_SOURCE, stranger.metadata)
    await world.finish()
  })
})

/** The name of the image's child. A suspended image shows its revision, but starts nothing. */
async function nameOfChild(world: World, image = 'wanted'): Promise<string> {
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
