import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { anImage } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { KubeObject, ObjectMeta } from '../../kube/kube-object.ts'
import { Store } from '../../runtime/store.ts'
import { BY_UID } from './caches.ts'
import { LookAlikes } from './look-alikes.ts'

const image = anImage({ uid: 'u1' })
const OWNER = { apiVersion: image.apiVersion, kind: image.kind, name: 'img', uid: 'u1', controller: true }
const child = (metadata: Partial<ObjectMeta>): KubeObject => ({
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'DataVolume',
  metadata: { name: 'x', namespace: 'tenant', uid: 'x', ...metadata },
})

function build() {
  const told: string[] = []
  let found = 0
  let now = 0
  const images = new Store<ImageView>().index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
  images.put(image)
  const lookAlikes = new LookAlikes({
    images,
    clock: { monotonic: () => now },
    metrics: {
      lookAlike: () => {
        found += 1
      },
    },
    events: { record: (subject, { message }) => told.push(`${subject.metadata.name}: ${message}`) },
  })
  const later = () => {
    now += 10 * 60_000
  }
  return { lookAlikes, told, later, found: () => found }
}

describe('an object', () => {
  it.each<[string, Partial<ObjectMeta>, string | undefined]>([
    ['is a child', { namespace: 'team', ownerReferences: [OWNER] }, undefined],
    ['says nothing', {}, undefined],
    [
      'has a label in the namespace of the image',
      { namespace: 'team', labels: { [LABELS.imageUid]: 'u1' } },
      undefined,
    ],
    [
      'is of a namesake of another group',
      { ownerReferences: [{ ...OWNER, apiVersion: 'nope.example/v1' }] },
      undefined,
    ],
    ['has a label elsewhere', { labels: { [LABELS.imageUid]: 'u1' } }, 'img'],
    ['has the owner elsewhere', { ownerReferences: [OWNER] }, 'img'],
    ['names it wrongly', { namespace: 'team', ownerReferences: [{ ...OWNER, name: 'other' }] }, 'img'],
    ['names nobody', { ownerReferences: [{ ...OWNER, uid: 'made up' }] }, 'x'],
    [
      'names nobody of that group',
      { labels: { [LABELS.managedBy]: MANAGER }, ownerReferences: [{ ...OWNER, apiVersion: 'nope.example/v1' }] },
      'x',
    ],
  ])('that %s', (_what, metadata, expected) => {
    const { lookAlikes, told, found } = build()
    lookAlikes.see(child(metadata))
    expect([found(), told.map((line) => line.split(':')[0])]).toEqual(
      expected === undefined ? [0, []] : [1, [expected]],
    )
  })

  it('is told of whatever thousands of others there are in another namespace', () => {
    const { lookAlikes, told, later } = build()
    const noise = () => {
      for (let number = 0; number < 1_000; number += 1)
        lookAlikes.see(child({ uid: `${number}`, ownerReferences: [{ ...OWNER, uid: `${number}` }] }))
    }
    noise()
    lookAlikes.see(child({ namespace: 'other', ownerReferences: [OWNER] }))
    expect(told.at(-1)).toContain('img: DataVolume other/x claims to belong to this VMDiskImage')
    later()
    noise()
    lookAlikes.see(child({ namespace: 'other', ownerReferences: [OWNER] }))
    expect(told).toHaveLength(2 * 21)
  })

  it('of thousands is counted, and few of them are told of', () => {
    const { lookAlikes, told, later, found } = build()
    for (let number = 0; number < 5_000; number += 1) {
      const name = `x-${number}`
      lookAlikes.see(child({ name, uid: name, labels: { [LABELS.imageUid]: 'u1' } }))
      lookAlikes.see(child({ name, uid: name, ownerReferences: [{ ...OWNER, uid: name }] }))
    }
    expect(found()).toBe(10_000)
    expect(told).toHaveLength(20)
    later()
    lookAlikes.see(child({ labels: { [LABELS.imageUid]: 'u1' } }))
    expect(told.at(-1)).toContain('img: DataVolume tenant/x claims to belong to this VMDiskImage')
  })
})
