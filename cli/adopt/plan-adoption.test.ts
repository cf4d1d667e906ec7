import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { viewAdopted } from '../../operator/controllers/vm-disk-image/adoption-facts.ts'
import type { KubeObject, OwnerReference } from '../../operator/kube/kube-object.ts'
import { type FoundVolume, planAdoption, releaseOf } from './plan-adoption.ts'

const OLDER = { apiVersion: 'crd.pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'kali', uid: 'older' }
const WORKSPACE = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'ws', uid: 'ws' }
const CLAIM_UID = 'claim'

interface Case {
  readonly owners?: readonly OwnerReference[]
  readonly labels?: Readonly<Record<string, string>>
  readonly image?: KubeObject | undefined
  readonly facts?: Partial<FoundVolume['facts']>
}

function found({ owners = [], labels = {}, image, facts }: Case = {}): FoundVolume {
  const storage = { resources: { requests: { storage: '10Gi' } }, storageClassName: 'fast' }
  const place = { namespace: 'team', name: 'kali-1.0' }
  const dataVolume = {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { ...place, uid: 'dv', ownerReferences: owners, labels },
    spec: { source: { http: { url: 'https://images.example/a.qcow2' } }, storage },
    status: { phase: 'Succeeded' },
  }
  const owner = { apiVersion: dataVolume.apiVersion, kind: 'DataVolume', name: place.name, uid: 'dv' }
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...place, uid: CLAIM_UID, ownerReferences: [owner] },
    spec: storage,
    status: { phase: 'Bound' },
  }
  const seen = { object: viewAdopted(dataVolume, 'DataVolume'), claim: viewAdopted(claim, 'PersistentVolumeClaim') }
  const all = { fault: undefined, checkedSince: 0, rule: 'rule', usedBy: undefined, ...seen, ...facts }
  return { ...place, dataVolume, claim, image, facts: all }
}

function anImage(adopt: string, status: object = {}): KubeObject {
  const metadata = { namespace: 'team', name: 'kali-1.0', annotations: { [ANNOTATIONS.adopt]: adopt } }
  const spec = { url: 'https://images.example/a.qcow2', sourceType: 'http', diskSize: '10Gi', storageClass: 'fast' }
  return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', metadata, spec, status } as KubeObject
}

const NAMED = 'dv/kali-1.0'
const TOLD = { conditions: [{ type: 'Adopted', status: 'False', reason: 'AdoptionUnchecked', message: 'set it' }] }

describe('what is to be done for a DataVolume', () => {
  it.each<[string, Case, string, readonly string[]]>([
    ['nobody has', {}, 'ready/SourceMatches', ['create']],
    ['the older operator has', { owners: [OLDER] }, 'ready/SourceMatches', ['release', 'create']],
    ['has a label of another name', { labels: { owner: 'other' } }, 'ready/SourceMatches', ['release', 'create']],
    ['something else owns', { owners: [WORKSPACE] }, 'refused/AdoptionOwned', []],
    ['something else owns too', { owners: [OLDER, WORKSPACE] }, 'refused/AdoptionOwned', []],
    ['CDI collects', { labels: { 'cdi.kubevirt.io/dataImportCron': 'fedora' } }, 'refused/AdoptionOwned', []],
    [
      'nobody checks',
      { owners: [OLDER], facts: { fault: { why: 'it is not there', isWrong: true } } },
      'refused/AdoptionUnchecked',
      [],
    ],
    [
      'is of a rule that this user may not read',
      { facts: { fault: { why: 'the operator may not read it', isUnread: true } } },
      'ready/SourceMatches',
      ['create'],
    ],
    ['an image has adopted', { image: anImage(NAMED, { adoption: { uid: CLAIM_UID } }) }, 'adopted/Adopted', []],
    [
      'an image names, and has not adopted',
      { owners: [OLDER], image: anImage(NAMED, TOLD) },
      'ready/SourceMatches',
      ['release'],
    ],
    ['an image names, and something else refuses', { image: anImage(NAMED, TOLD) }, 'refused/AdoptionUnchecked', []],
    ['an image of its name does not name', { image: anImage('dv/other') }, 'refused/NameConflict', []],
    [
      'an image has adopted an earlier claim of its name of',
      { image: anImage(NAMED, { adoption: { uid: 'earlier' }, reason: 'AdoptionMissing', message: 'gone' }) },
      'refused/AdoptionMissing',
      [],
    ],
  ])('that %s', (_what, given, expected, steps) => {
    const planned = planAdoption(found(given))
    expect([`${planned.state}/${planned.reason}`, planned.steps.map(({ what }) => what)]).toEqual([expected, steps])
  })

  it('says why an image that names it has not adopted it', () => {
    expect(planAdoption(found({ image: anImage(NAMED, TOLD) })).message).toMatch(/has not adopted it: set it$/)
  })

  it('prints commands in which the text of others is one word of the shell', () => {
    const place = { ...found().dataVolume?.metadata, namespace: "a'; id; '" }
    const planned = planAdoption({ ...found({ owners: [OLDER] }), ...place, namespace: place.namespace } as FoundVolume)
    expect(planned.steps[0]?.command).toMatch(/^kubectl -n 'a'\\''; id; '\\''' patch dv kali-1\.0 --type=merge -p '\{/)
  })

  it('releases nothing that has another owner', () => {
    expect(() => releaseOf(found({ owners: [OLDER, WORKSPACE] }).dataVolume)).toThrow('another owner: Workspace ws')
  })
})
