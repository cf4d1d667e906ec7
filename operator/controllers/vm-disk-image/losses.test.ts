import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { apiError, FakeClient } from '../../kube/fake-client.fixtures.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { lookForLost } from './losses.ts'
import { CDI, Walk } from './world.fixtures.ts'

const { signal } = new AbortController()

describe('what a plan takes to be gone', () => {
  it('is the DataVolume that ran and that the caches do not have', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running).settle()
    const [dataVolume] = walk.world.dataVolumes
    expect(walk.plan().losses).toBeUndefined()
    walk.dropDataVolumes()
    const { name, uid } = dataVolume?.metadata ?? {}
    expect(walk.plan().losses).toEqual([{ kind: 'DataVolume', name, uid }])
    expect(walk.settle().plan().losses).toBeUndefined()
  })

  it('is the artifact that the caches do not have', () => {
    const walk = new Walk().publish()
    const name = walk.status.artifact?.name
    walk.set({ snapshots: [] })
    expect(walk.plan().losses).toEqual([{ kind: 'VolumeSnapshot', name }])
    expect(walk.settle().plan().losses).toBeUndefined()
  })

  it('is nothing that the caches show to be on its way out', () => {
    const walk = new Walk().publish()
    const deletionTimestamp = '2026-01-01T00:10:00Z'
    const leaving = walk.world.snapshots.map((one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp } }))
    walk.set({ snapshots: leaving })
    expect(walk.plan().status.artifact).toBeUndefined()
    expect(walk.plan().losses).toBeUndefined()
  })
})

describe('a live look for it', () => {
  const loss = { kind: 'VolumeSnapshot', name: 'img-1' } as const
  const { image } = new Walk().world
  const found = (metadata: object): KubeObject => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { namespace: 'team', name: 'img-1', uid: 'one', ...metadata },
  })
  const { name: owner, uid: ownerUid = '' } = image.metadata
  const OWNER = { apiVersion: image.apiVersion, kind: image.kind, name: owner, uid: ownerUid, controller: true }
  const look = (object: KubeObject | undefined, uid?: string) => {
    const client = new FakeClient()
    if (object !== undefined) client.put(object)
    return lookForLost(client, image, { ...loss, ...(uid !== undefined && { uid }) }, signal)
  }

  it('finds what is there and ours', async () => {
    expect(keyOf((await look(found({ ownerReferences: [OWNER] })))?.object.metadata ?? { name: '' })).toBe('team/img-1')
    expect(await look(found({ ownerReferences: [OWNER] }), 'one')).toBeDefined()
  })

  it('finds a claim by its label', async () => {
    const labels = { [LABELS.imageUid]: image.metadata.uid ?? '' }
    const client = new FakeClient()
    client.put({ ...found({ labels }), apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
    expect(await lookForLost(client, image, { kind: 'PersistentVolumeClaim', name: 'img-1' }, signal)).toBeDefined()
  })

  it('takes for gone what somebody took the owner off, or gave to another', async () => {
    const labels = { [LABELS.imageUid]: image.metadata.uid ?? '' }
    expect(await look(found({ labels }), 'one')).toBeUndefined()
    expect(await look(found({ labels, ownerReferences: [{ ...OWNER, uid: 'other' }] }), 'one')).toBeUndefined()
  })

  it('finds neither a namesake nor nothing', async () => {
    expect(await look(undefined)).toBeUndefined()
    expect(await look(found({}))).toBeUndefined()
    expect(await look(found({}), 'another')).toBeUndefined()
  })

  it('does not take trouble for an answer', async () => {
    const client = new FakeClient()
    client.before = () => {
      throw apiError('Unavailable')
    }
    await expect(lookForLost(client, image, loss, signal)).rejects.toThrow('scripted Unavailable')
  })
})
