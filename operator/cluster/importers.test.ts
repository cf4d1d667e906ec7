import { describe, expect, it } from 'vitest'
import { type KubeObject, keyOf } from '../kube/kube-object.ts'
import { Store } from '../runtime/store.ts'
import { BY_CLAIM, claimIndex, importersOf, mayFill } from './importers.ts'

const object = (kind: string, name: string, uid: string, owner?: KubeObject, namespace = 'team'): KubeObject => ({
  apiVersion: kind === 'DataVolume' ? 'cdi.kubevirt.io/v1beta1' : 'v1',
  kind,
  metadata: {
    name,
    namespace,
    uid,
    ...(owner !== undefined && {
      ownerReferences: [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid ?? '',
          controller: true,
        },
      ],
    }),
  },
})

const dataVolume = object('DataVolume', 'x', 'dv')
const target = object('PersistentVolumeClaim', 'x', 'target', dataVolume)
const prime = object('PersistentVolumeClaim', 'prime-target', 'prime', target)

function cached(...objects: readonly KubeObject[]) {
  const claims = new Map<string, KubeObject>()
  const pods = new Store<KubeObject>().index(BY_CLAIM, claimIndex)
  for (const one of objects) {
    if (one.kind === 'Pod') pods.put(one)
    else claims.set(keyOf(one.metadata), one)
  }
  return { claims, pods }
}

describe('the importers of a DataVolume', () => {
  it.each<[string, KubeObject]>([
    ['its prime claim', object('Pod', 'importer-prime-target', 'pod', prime)],
    ['its own claim', object('Pod', 'importer-x', 'pod', target)],
  ])('are the pods that fill %s', (_what, pod) => {
    expect(importersOf(dataVolume, cached(target, prime, pod))).toEqual([pod])
  })

  it.each<[string, readonly KubeObject[]]>([
    ['a prime claim of another name', [target, object('PersistentVolumeClaim', 'prime-other', 'prime', target)]],
    ['a prime claim that nothing owns', [target, object('PersistentVolumeClaim', 'prime-target', 'prime')]],
    ['a target claim that nothing owns', [object('PersistentVolumeClaim', 'x', 'target'), prime]],
    [
      'a target claim of an earlier DataVolume',
      [object('PersistentVolumeClaim', 'x', 'target', object('DataVolume', 'x', 'earlier')), prime],
    ],
    ['claims that are not there', []],
  ])('do not come by %s', (_what, claims) => {
    const pods = [prime, target].map((claim) => object('Pod', `importer-${claim.metadata.name}`, 'pod', claim))
    expect(importersOf(dataVolume, cached(...claims, ...pods)).map(({ metadata }) => metadata.name)).toEqual(
      claims.includes(target) ? ['importer-x'] : [],
    )
  })

  it('do not come from another namespace', () => {
    const elsewhere = [
      object('PersistentVolumeClaim', 'x', 'target', dataVolume, 'tenant'),
      object('PersistentVolumeClaim', 'prime-target', 'prime', target, 'tenant'),
      object('Pod', 'importer', 'pod', prime, 'tenant'),
    ]
    expect(importersOf(dataVolume, cached(...elsewhere))).toEqual([])
    expect(importersOf(dataVolume, cached(target, prime, ...elsewhere))).toEqual([])
  })
})

describe('a pod whose DataVolume is gone', () => {
  const pod = (claim: KubeObject | undefined) => object('Pod', 'importer', 'pod', claim)
  const gone = object('PersistentVolumeClaim', 'prime-whatever', 'gone')
  const ofOther = object('PersistentVolumeClaim', 'y', 'other')
  const primeOfOther = object('PersistentVolumeClaim', 'prime-other', 'prime-other', ofOther)

  it.each<[string, KubeObject, readonly KubeObject[], boolean]>([
    ['the claim of its name', pod(target), [], true],
    ['a prime claim that is there, of a target that is gone', pod(prime), [prime], true],
    ['a prime claim that is gone as well', pod(gone), [], true],
    [
      'a prime claim in whose place there is another one',
      pod(gone),
      [object('PersistentVolumeClaim', 'prime-whatever', 'new')],
      true,
    ],
    ['a prime claim of another target', pod(primeOfOther), [primeOfOther], false],
    ['another claim', pod(ofOther), [], false],
    ['none', pod(undefined), [], false],
    ['what is called like a claim', pod(object('DataVolume', 'prime-x', 'dv')), [], false],
  ])('may have filled %s: %s', (_what, one, claims, expected) => {
    expect(mayFill(one, 'x', cached(...claims).claims)).toBe(expected)
  })
})
