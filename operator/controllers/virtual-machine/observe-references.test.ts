import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { aNamespace } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aDisk, aStorageClass, SOURCE } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import { ARTIFACT, anImage, aVM, SPEC, TEMPLATE } from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { build, GOING } from '../../../test/prepared/virtual-machine/observe-bench.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

describe('what a clone reads from', () => {
  const source = (kind: string): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: SOURCE.name, namespace: SOURCE.namespace, uid: 'source' },
  })

  it.each([
    ['VolumeSnapshot', 'snapshots'],
    ['PersistentVolumeClaim', 'claims'],
    ['DataSource', 'dataSources'],
  ] as const)('is there, or not: a %s', (kind, store) => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk({ cloneOf: { ...SOURCE, kind } }))
    expect(look().hasCloneSource).toBe(false)
    for (const other of [bench.snapshots, bench.claims, bench.dataSources])
      if (other !== bench[store]) bench.put(other, source('other'))
    expect(look().hasCloneSource).toBe(false)
    const object = bench.put(bench[store], source(kind))
    expect(look().hasCloneSource).toBe(true)
    bench.drop(bench[store], object)
    expect(look().hasCloneSource).toBe(false)
  })

  it.each([
    ['VolumeSnapshot', 'snapshots'],
    ['PersistentVolumeClaim', 'claims'],
  ] as const)('is what the image names, where there is no clone: a %s', (kind, store) => {
    const { bench, look } = build()
    bench.put(bench.images, anImage({ artifact: { ...ARTIFACT, kind } }))
    for (const other of [bench.snapshots, bench.claims, bench.dataSources])
      if (other !== bench[store]) bench.put(other, source('other'))
    expect(look().hasCloneSource).toBe(false)
    bench.put(bench[store], source(kind))
    expect(look().hasCloneSource).toBe(true)
    bench.put(bench.dataVolumes, aDisk({ cloneOf: { ...SOURCE, name: 'another' } }))
    expect(look().hasCloneSource).toBe(false)
  })

  it('is of no matter to a disk that is no clone, nor where there is no image', () => {
    const { bench, look } = build()
    expect(look().hasCloneSource).toBe(true)
    bench.put(bench.dataVolumes, aDisk({ cloneOf: undefined }))
    expect(look().hasCloneSource).toBe(true)
  })
})

describe('the image', () => {
  it('is the one that the reference names, in the namespace of the machine where that names none', () => {
    const { bench, look } = build()
    const there = bench.put(bench.images, anImage())
    const here = bench.put(bench.images, anImage({}, { namespace: 'team' }))
    expect(look().image).toBe(there)
    expect(look(aVM({}, { spec: { ...SPEC, vmDiskImageRef: { name: 'golden' } } })).image).toBe(here)
    expect(
      look(aVM({}, { spec: { ...SPEC, vmDiskImageRef: { name: 'none', namespace: 'farm' } } })).image,
    ).toBeUndefined()
  })

  it.each<[what: string, names: readonly string[], others: number, expected: boolean]>([
    ['by nobody as far as is known', [], 0, false],
    ['by the machine', ['VirtualMachine/team/vm'], 0, false],
    ['by another machine, which says what it wants', ['VirtualMachine/team/other'], 1, false],
    [
      'by another machine, whose names are not all told',
      Array.from({ length: 12 }, () => 'VirtualMachine/team/vm'),
      1,
      true,
    ],
    ['by something else, as its status tells', ['VirtualMachine/team/vm', 'DataVolume/team/copy'], 0, true],
    ['by something else alone', ['DataVolume/team/copy'], 0, true],
  ])('is referred to %s: shared or not', (_what, names, others, expected) => {
    const { bench, look } = build()
    const wrong = { ...TEMPLATE, url: 'https://images.example/wrong.qcow2' }
    const references = { count: names.length, names: [...names] }
    bench.put(bench.images, anImage({ references }, {}, wrong))
    const claims = others > 0 ? [{ by: 'VirtualMachine/team/other', wants: TEMPLATE }] : []
    expect(look(aVM(), () => claims)).toMatchObject({ isImageShared: expected, imageClaims: claims })
    // They matter only where the template could correct the image.
    const none = { isImageShared: false, imageClaims: [] }
    for (const image of [anImage({ references }), anImage({ references, artifact: ARTIFACT }, {}, wrong)]) {
      bench.put(bench.images, image)
      expect(look(aVM(), () => claims)).toMatchObject(none)
    }
  })

  it.each([undefined, null, {}, { vmDiskImageRef: null }, { vmDiskImageRef: { name: 7 } }, 'text'])(
    'of a spec that cannot be read is none: %j',
    (spec) => {
      const { look } = build()
      expect(look(aVM({}, { spec }))).toMatchObject({
        spec: { ok: false },
        image: undefined,
        imageNamespace: 'missing',
      })
    },
  )
})

it('an image that is not there is known by its name with a hash, if a DataSync has only one', () => {
  const { bench, look } = build()
  const { name } = anImage({}).metadata
  const put = (hash: string) =>
    bench.put(bench.images, anImage({}, { name: `${name}-${hash}`, labels: { 'pelotech.ot/created-by': 'DataSync' } }))
  put('9cef6943')
  expect(look()).toMatchObject({ image: undefined, imageWithHash: `farm/${name}-9cef6943` })
  put('84b2ada5')
  expect(look().imageWithHash).toBeUndefined()
  bench.put(bench.images, anImage({}))
  expect(look()).not.toHaveProperty('imageWithHash')
})

describe('the StorageClass', () => {
  const artifact = { ...ARTIFACT, storageClass: 'published' }

  it.each<[string, string | undefined, ImageView | undefined]>([
    ['of the artifact', 'published', anImage({ artifact })],
    ['that the image names, before there is an artifact', 'fast', anImage({ defaults: { storageClass: 'default' } })],
    ['that the image got, where it names none', 'default', anImage({ defaults: { storageClass: 'default' } }, {}, {})],
    ['none, where nobody names one', undefined, anImage({}, {}, {})],
    ['none, where the image cannot be read', undefined, anImage({}, {}, { storageClass: 7 })],
    ['none, without an image', undefined, undefined],
  ])('is that of the disk: %s', (_what, expected, image) => {
    const { bench, look } = build()
    for (const name of ['published', 'fast', 'default'])
      bench.put(bench.storageClasses, { ...aStorageClass(), metadata: { name, uid: name } })
    if (image !== undefined) bench.put(bench.images, image)
    expect(look().storageClass?.metadata.name).toBe(expected)
  })
})

describe('a namespace', () => {
  it.each([
    [undefined, 'missing'],
    [aNamespace('n'), 'there'],
    [aNamespace('n', GOING), 'terminating'],
  ] as const)('is there, missing or terminating: %#', (namespace, expected) => {
    expect(namespaceState(namespace)).toBe(expected)
  })

  it('of the machine and that of its image are told apart', () => {
    const { bench, look } = build()
    bench.put(bench.namespaces, aNamespace('farm', GOING))
    expect(look()).toMatchObject({ namespaceTerminating: false, imageNamespace: 'terminating' })
    bench.put(bench.namespaces, aNamespace('team', GOING))
    expect(look().namespaceTerminating).toBe(true)
    bench.drop(bench.namespaces, aNamespace('farm'))
    expect(look().imageNamespace).toBe('missing')
  })
})

describe('KubeVirt and CDI', () => {
  it('are there when their kinds are', async () => {
    const { bench, look } = build()
    expect(look()).toMatchObject({ hasKubeVirt: false, hasDataVolumes: false })
    await bench.look()
    expect(look()).toMatchObject({ hasKubeVirt: true, hasDataVolumes: true })
  })

  it('are not there when the API server does not know their kinds', async () => {
    const { bench, look } = build()
    bench.client.before = () => {
      throw apiError('NotFound')
    }
    await bench.look()
    expect(look()).toMatchObject({ hasKubeVirt: false, hasDataVolumes: false })
  })
})
