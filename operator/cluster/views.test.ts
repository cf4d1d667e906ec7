import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { virtualMachine, vmDiskImage } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { CLUTTERED, KEPT, raw } from '../../test/prepared/cluster/raw-object.ts'
import { viewImage } from '../images/image-view.ts'
import {
  isDefaultClass,
  viewClaim,
  viewDataVolume,
  viewMeta,
  viewPod,
  viewSnapshot,
  viewStorageClass,
} from './views.ts'

describe('a view', () => {
  it.each([viewImage, viewDataVolume, viewClaim, viewSnapshot, viewPod, viewMeta, viewStorageClass])(
    'is made of an object that has nothing but a name: %o',
    (view) => {
      const bare = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a' } }
      expect(view(bare)).toMatchObject(bare)
    },
  )

  it('of a DataVolume has no word of others that is longer than the field of ours that it goes into', () => {
    const long = 'x'.repeat(5_000)
    const { phase, progress } = viewDataVolume(raw({ status: { phase: long, progress: long } }))
    expect([phase.length, progress.length]).toEqual([64, 16])
    expect(virtualMachine.status.safeParse({ clone: { name: 'vm-root', phase, progress } }).error).toBeUndefined()
    expect(vmDiskImage.status.safeParse({ progress }).error).toBeUndefined()
  })

  it('of a child shares with those of its siblings what they say alike, and nothing else', () => {
    const child = (uid: string, labels: object = {}, owner: object = {}) =>
      raw(
        {},
        {
          labels: { [LABELS.imageUid]: uid, [LABELS.imageName]: 'a', ...labels },
          ownerReferences: [{ apiVersion: 'v', kind: 'K', name: 'a', uid, controller: true, ...owner }],
        },
      )
    // The claim is viewed first. Its owner is its DataVolume.
    const claim = viewClaim(child('u1', {}, { uid: 'dv' })).metadata
    const volume = viewDataVolume(child('u1')).metadata
    const snapshot = viewSnapshot(child('u1')).metadata
    expect([volume.labels, snapshot.labels]).toEqual([claim.labels, claim.labels])
    expect(volume.labels).toBe(claim.labels)
    expect(snapshot.labels).toBe(claim.labels)
    expect(snapshot.ownerReferences).toBe(volume.ownerReferences)
    expect(claim.ownerReferences?.[0]?.uid).toBe('dv')
    const other = viewSnapshot(child('u1', { [LABELS.revision]: 'r' }, { name: 'b' })).metadata
    expect(other.labels).toMatchObject({ [LABELS.revision]: 'r' })
    expect(other.ownerReferences?.[0]?.name).toBe('b')
    const again = viewDataVolume(child('u1', { [LABELS.revision]: 'r' })).metadata
    expect(again.labels).toBe(other.labels)
    expect(again.ownerReferences).toBe(volume.ownerReferences)
    const named = child('u1')
    expect(
      viewClaim({ ...named, metadata: { ...named.metadata, name: 'b', creationTimestamp: 't' } }).metadata,
    ).toMatchObject({
      name: 'b',
      creationTimestamp: 't',
    })
    expect(viewClaim(named).metadata).toMatchObject({ name: 'a', creationTimestamp: undefined })
    expect(viewDataVolume(child('u2')).metadata.labels).toMatchObject({ [LABELS.imageUid]: 'u2' })
  })

  it('of a claim shares its access modes with those of other claims', () => {
    const claim = () =>
      viewClaim(raw({ spec: { volumeMode: 'Block', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] } }))
    expect(claim().accessModes).toEqual(['ReadWriteOnce', 'ReadOnlyMany'])
    expect(claim().accessModes).toBe(claim().accessModes)
    expect(viewClaim(raw({})).accessModes).toEqual([])
  })

  it('keeps our labels and annotations, the controller among the owners, and no managed fields', () => {
    const { metadata } = viewDataVolume(
      raw(
        {},
        {
          labels: { [LABELS.revision]: '1', app: 'theirs' },
          annotations: { [ANNOTATIONS.attempt]: '2', 'kubectl.kubernetes.io/last-applied-configuration': 'huge' },
          ...CLUTTERED,
        },
      ),
    )
    expect(metadata).toEqual({
      ...KEPT,
      labels: { [LABELS.revision]: '1' },
      annotations: { [ANNOTATIONS.attempt]: '2' },
    })
  })

  it('of a Secret has nothing of its content', () => {
    const view = viewMeta(raw({ data: { password: 's3cr3t' } }, { annotations: { note: 's3cr3t' } }))
    expect(JSON.stringify(view)).not.toContain('s3cr3t')
  })

  it('of a DataVolume has its conditions by name', () => {
    const status = {
      phase: 'ImportInProgress',
      progress: '1%',
      restartCount: 2,
      conditions: [
        { type: 'Running', status: 'False', reason: 'Error', message: 'text' },
        { type: 'Bound', status: 'True' },
      ],
    }
    expect(viewDataVolume(raw({ status }))).toMatchObject({
      phase: 'ImportInProgress',
      progress: '1%',
      restartCount: 2,
      running: { status: 'False', reason: 'Error', message: 'text' },
      bound: { status: 'True', reason: '', message: '' },
      ready: { status: '', reason: '', message: '' },
      cloneOf: undefined,
    })
  })

  it.each([
    [{ source: { snapshot: { name: 's', namespace: 'm' } } }, { kind: 'VolumeSnapshot', namespace: 'm', name: 's' }],
    [{ source: { pvc: { name: 's' } } }, { kind: 'PersistentVolumeClaim', namespace: 'n', name: 's' }],
    [{ sourceRef: { kind: 'DataSource', name: 's' } }, { kind: 'DataSource', namespace: 'n', name: 's' }],
    [{ source: { http: { url: 'x' } } }, undefined],
    [{ source: {} }, undefined],
    [{}, undefined],
  ])('of a DataVolume knows what it is cloned from: %j', (spec, expected) => {
    expect(viewDataVolume(raw({ spec })).cloneOf).toEqual(expected)
  })

  it.each([
    [[{ persistentVolumeClaim: { claimName: 'prime-1-scratch' } }], true],
    [[{ persistentVolumeClaim: { claimName: 'prime-1' } }, { secret: {} }], false],
    [undefined, false],
  ])('of a pod knows scratch space: %j', (volumes, expected) => {
    expect(viewPod(raw({ spec: { volumes } })).hasScratch).toBe(expected)
  })

  it.each([
    ['true', true],
    ['false', false],
    [undefined, false],
  ])('of a storage class knows the default: %s', (value, expected) => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': value }
    expect(isDefaultClass(viewStorageClass(raw({}, { annotations })))).toBe(expected)
  })

  it.each([
    [true, true],
    [false, false],
    [undefined, false],
  ])('of a storage class knows whether volumes can grow: %s', (allowVolumeExpansion, expected) => {
    expect(viewStorageClass(raw({ allowVolumeExpansion })).allowVolumeExpansion).toBe(expected)
  })
})
