import { describe, expect, it } from 'vitest'
import type { ObjectMeta } from '../../kube/kube-object.ts'
import { viewAdopted } from './adoption-facts.ts'

const workspace = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'ws', uid: 'w' }
const older = { apiVersion: 'crd.pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'kali', uid: 'o', controller: true }

describe('who else has an object', () => {
  it.each<[string, Partial<ObjectMeta>, readonly string[], readonly string[]]>([
    ['nobody', {}, [], []],
    ['a controller', { ownerReferences: [older] }, ['VMDiskImage kali of crd.pelotech.ot'], []],
    ['an owner that is no controller', { ownerReferences: [workspace] }, ['Workspace ws of pelotech.ot'], []],
    ['the older operator, under another name', { labels: { owner: 'metadata-name' } }, [], ['owner=metadata-name']],
    [
      'CDI, which collects earlier imports',
      { labels: { 'cdi.kubevirt.io/dataImportCron': 'fedora' } },
      [],
      ['cdi.kubevirt.io/dataImportCron=fedora'],
    ],
  ])('is %s', (_who, more, owners, labels) => {
    const metadata = { name: 'a', namespace: 'n', uid: 'u', ...more }
    const found = viewAdopted({ apiVersion: 'v1', kind: 'DataVolume', metadata }, 'DataVolume')
    expect([found.owners.map(({ title }) => title), found.labels]).toEqual([owners, labels])
  })
})
