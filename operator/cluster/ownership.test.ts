import { describe, expect, it } from 'vitest'
import type { KubeObject, OwnerReference } from '../kube/kube-object.ts'
import { isChildOf, ownerAmong } from './ownership.ts'

const owner: KubeObject = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VMDiskImage',
  metadata: { name: 'img', namespace: 'team', uid: 'u1' },
}
const REFERENCE = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'img', uid: 'u1', controller: true }
const child = (change: Partial<OwnerReference> = {}, namespace = 'team'): KubeObject => ({
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'DataVolume',
  metadata: { name: 'child', namespace, ownerReferences: [{ ...REFERENCE, ...change }] },
})

describe('an object', () => {
  it.each<[string, KubeObject, boolean]>([
    ['whose controller is the owner', child(), true],
    ['whose controller is the owner by another version of its group', child({ apiVersion: 'pelotech.ot/v1' }), true],
    ['in another namespace', child({}, 'tenant'), false],
    ['of an earlier life of the owner', child({ uid: 'u0' }), false],
    ['of another name', child({ name: 'other' }), false],
    ['of another kind', child({ kind: 'VirtualMachine' }), false],
    ['of another group', child({ apiVersion: 'nope.example/v1alpha1' }), false],
    ['of the core group', child({ apiVersion: 'v1' }), false],
    ['that the owner does not control', child({ controller: false }), false],
    ['that has no owner', { ...child(), metadata: { name: 'child', namespace: 'team' } }, false],
  ])('%s: is it a child?', (_what, object, expected) => {
    expect(isChildOf(object, owner)).toBe(expected)
    expect(ownerAmong(object, new Map([['team/img', owner]]))).toBe(expected ? owner : undefined)
  })

  it('is nobody’s child where its owner does not exist, or has no uid', () => {
    expect(ownerAmong(child(), new Map())).toBeUndefined()
    expect(isChildOf(child(), { ...owner, metadata: { name: 'img', namespace: 'team' } })).toBe(false)
  })
})
