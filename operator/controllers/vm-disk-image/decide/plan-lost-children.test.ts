import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, VOLUME_SNAPSHOT } from '../../../kube/resource-types.ts'
import { hasImageChild } from '../observe.ts'

describe('what a plan takes to be gone', () => {
  it('is the DataVolume that ran and that the caches do not have', () => {
    const walk = new ImageWalk()
    walk.settle().admit().report(CDI.running).settle()
    const [dataVolume] = walk.world.dataVolumes
    expect(walk.plan().onlyIf).toBeUndefined()
    walk.dropDataVolumes()
    const { name, uid } = dataVolume?.metadata ?? {}
    expect(walk.plan().onlyIf).toEqual([
      { absent: [{ type: DATA_VOLUME, namespace: 'team', name, uid }], whose: 'ours' },
    ])
    expect(walk.settle().plan().onlyIf).toBeUndefined()
  })

  it('is the artifact that the caches do not have', () => {
    const walk = new ImageWalk().publish()
    const name = walk.status.artifact?.name
    walk.set({ snapshots: [] })
    expect(walk.plan().onlyIf).toEqual([
      { absent: [{ type: VOLUME_SNAPSHOT, namespace: 'team', name }], whose: 'ours' },
    ])
    expect(walk.settle().plan().onlyIf).toBeUndefined()
  })

  it('is nothing that the caches show to be on its way out', () => {
    const walk = new ImageWalk().publish()
    const deletionTimestamp = '2026-01-01T00:10:00Z'
    const leaving = walk.world.snapshots.map((one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp } }))
    walk.set({ snapshots: leaving })
    expect(walk.plan().status.artifact).toBeUndefined()
    expect(walk.plan().onlyIf).toBeUndefined()
  })
})

describe('a live look for it', () => {
  const { image } = new ImageWalk().world
  const found = (metadata: object, kind = 'VolumeSnapshot'): KubeObject => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind,
    metadata: { namespace: 'team', name: 'img-1', uid: 'one', ...metadata },
  })
  const { name: owner, uid: ownerUid = '' } = image.metadata
  const OWNER = { apiVersion: image.apiVersion, kind: image.kind, name: owner, uid: ownerUid, controller: true }
  const labels = { [LABELS.imageUid]: ownerUid }

  it.each<[string, KubeObject, boolean]>([
    ['finds a child', found({ ownerReferences: [OWNER] }), true],
    ['finds a claim by its label', found({ labels }, 'PersistentVolumeClaim'), true],
    ['finds no namesake', found({}), false],
    ['takes for gone what somebody took the owner off', found({ labels }), false],
    ['takes for gone what belongs to another', found({ labels, ownerReferences: [{ ...OWNER, uid: 'other' }] }), false],
  ])('%s', (_what, object, expected) => {
    expect(hasImageChild([object], image)).toBe(expected)
  })
})
