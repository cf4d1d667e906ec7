import { LABELS } from '@open-terrain/constructs'
import { adoptedVolume, workspace as WORKSPACE } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject, OwnerReference } from '../kube/kube-object.ts'
import { Store } from '../runtime/store.ts'
import { keptMetadata } from './kept-metadata.ts'
import { BY_OWNER, byOwnerOf, familyKey, isChildOf, ownerAmong } from './ownership.ts'

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

const LAB = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name: 'team', uid: 'u1' } }

/** A claim that the workspace owns without being its controller. */
function claimOf(labels: Readonly<Record<string, string>>, change: Partial<OwnerReference> = {}): KubeObject {
  const { apiVersion, kind } = LAB
  const ownerReferences = [{ apiVersion, kind, ...LAB.metadata, ...change }]
  const metadata = keptMetadata(
    { name: 'loot-1a2b3c4d', namespace: 'team', labels, ownerReferences },
    { labels: [LABELS.volume] },
  )
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata }
}

it('is a child without a controller only as a claim that a volume was restored to, which earlier versions leave alone', () => {
  const label = { [LABELS.volume]: 'loot' }
  expect([claimOf(label), claimOf({}), claimOf(label, { uid: 'u0' })].map((one) => isChildOf(one, LAB))).toEqual([
    true,
    false,
    false,
  ])
  expect(byOwnerOf(WORKSPACE)(claimOf(label))).toEqual([familyKey('team', 'u1')])
  const { ownerReferences } = adoptedVolume(
    { name: 'team', uid: 'u1' },
    { volume: 'loot', name: 'loot-1a2b3c4d' },
  ).metadata
  expect(ownerReferences.map(({ controller }) => controller)).toEqual([undefined])
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

  it.each([undefined, 'team', 'other'])('in namespace %s may be the child of an owner that is in none', (namespace) => {
    const clusterScoped = { ...owner, metadata: { name: 'img', uid: 'u1' } }
    const { namespace: _none, ...metadata } = child().metadata
    const object = { ...child(), metadata: namespace === undefined ? metadata : { ...metadata, namespace } }
    expect(isChildOf(object, clusterScoped)).toBe(true)
    expect(ownerAmong(object, new Map([['img', clusterScoped]]))).toBe(clusterScoped)
  })

  it('is nobody’s child where its owner does not exist, or has no uid', () => {
    expect(ownerAmong(child(), new Map())).toBeUndefined()
    expect(isChildOf(child(), { ...owner, metadata: { name: 'img', namespace: 'team' } })).toBe(false)
  })
})

it('an index of children has those of one kind of owners, each in its own namespace', () => {
  const index = new Store<KubeObject>().index(BY_OWNER, byOwnerOf({ group: 'pelotech.ot', kind: 'Workspace' }))
  const put = (name: string, namespace: string | undefined, reference: object) =>
    index.put({
      apiVersion: 'v1',
      kind: 'Any',
      metadata: { name, ...(namespace && { namespace }), uid: name, ownerReferences: [{ ...REFERENCE, ...reference }] },
    })
  const lab = { kind: 'Workspace', name: 'lab', uid: 'lab' }
  put('inside', 'lab', lab)
  put('lab', undefined, lab)
  put('forged', 'tenant', lab)
  put('of-an-image', 'lab', { uid: 'lab' })
  const found = (namespace?: string) =>
    index.find(BY_OWNER, familyKey(namespace, 'lab')).map(({ metadata }) => metadata.name)
  expect([found('lab'), found()]).toEqual([['inside'], ['lab']])
})
