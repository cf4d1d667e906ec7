import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { anImage, aSnapshot, childMeta } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { clusterCaches } from '../../cluster/caches.ts'
import { viewDataSource, viewDataVolume } from '../../cluster/views.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { ImageCaches } from './caches.ts'
import { Clones } from './clones.ts'

const IMAGE = anImage()
const SNAPSHOT = { kind: 'VolumeSnapshot', namespace: 'team', name: 'img-1' }
const VOLUME = { kind: 'DataVolume', namespace: 'team', name: 'img-1' }
const { signal } = new AbortController()

let client = new ScriptedClient()
let caches: ImageCaches
let clones: Clones
beforeEach(() => {
  client = new ScriptedClient()
  caches = new ImageCaches(
    clusterCaches(
      new Reflectors({
        client,
        clock: new FakeClock(),
        random: () => 0.5,
        log: fakeLog(),
        onRelist: () => undefined,
      }),
    ),
  )
  clones = new Clones(client, caches)
})

const aClone = (spec: object, phase = 'CloneInProgress', namespace = 'other'): KubeObject =>
  ({
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { name: 'clone', namespace, uid: 'clone', resourceVersion: '300' },
    spec,
    status: { phase },
  }) as KubeObject
const byAlias = (name: string, namespace?: string) => ({ sourceRef: { kind: 'DataSource', name, namespace } })
/** DataSource `theirs` in namespace `other`. */
const theirs = (source: object): void => {
  caches.cluster.dataSources.put(
    viewDataSource({
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataSource',
      metadata: { name: 'theirs', namespace: 'other', resourceVersion: '250' },
      spec: { source },
    } as KubeObject),
  )
}

describe.each([
  ['in the cache', (clone: KubeObject): void => caches.cluster.dataVolumes.put(viewDataVolume(clone)), 'cached'],
  ['that only a live list knows', (clone: KubeObject): void => void client.put(clone), 'live'],
] as const)('an unfinished clone %s', (_name, tell, read) => {
  it.each<[string, object, boolean]>([
    ['the snapshot', { source: { snapshot: { name: 'img-1', namespace: 'team' } } }, true],
    ['the DataSource of the image', byAlias('img', 'team'), true],
    ['the DataSource of another image', byAlias('other', 'team'), false],
    ['a namesake of the DataSource in another namespace', byAlias('img'), false],
    ['a DataSource of others that leads to the snapshot', byAlias('theirs'), true],
  ])('that names %s', async (_what, spec, expected) => {
    theirs({ snapshot: { name: 'img-1', namespace: 'team' } })
    tell(aClone(spec))
    expect(await clones.read({ uncloned: SNAPSHOT, read }, IMAGE, signal)).toBe(expected)
  })

  it('that names a DataSource of others that leads to the one of the image holds off every child', async () => {
    theirs({ dataSource: { name: 'img', namespace: 'team' } })
    tell(aClone(byAlias('theirs')))
    expect(await clones.read({ uncloned: SNAPSHOT, read }, IMAGE, signal)).toBe(true)
    expect(await clones.read({ uncloned: VOLUME, read }, IMAGE, signal)).toBe(true)
  })

  it('that is finished needs its source no more', async () => {
    tell(aClone(byAlias('img', 'team'), 'Succeeded'))
    expect(await clones.read({ uncloned: VOLUME, read }, IMAGE, signal)).toBe(false)
  })
})

it('a clone that reads from a child refers to the image until it is finished', () => {
  const references = () => clones.cached({ namespace: 'team', name: 'img' }).names
  const put = (phase: string, resourceVersion: string) => {
    const clone = aClone({ source: { snapshot: { name: 'img-1', namespace: 'team' } } }, phase)
    caches.cluster.dataVolumes.put(viewDataVolume({ ...clone, metadata: { ...clone.metadata, resourceVersion } }))
  }
  caches.images.put(IMAGE)
  caches.cluster.snapshots.put(aSnapshot(childMeta('img-1', '1')))
  expect(references()).toEqual([])
  put('CloneInProgress', '300')
  expect(references()).toEqual(['DataVolume/other/clone'])
  put('Succeeded', '301')
  expect(references()).toEqual([])
})
