import { ApiObject, App, Chart, JsonPatch } from 'cdk8s'
import { describe, expect, it } from 'vitest'
import { DataSource, renderDataSource } from './data-source.ts'
import { type DataVolumeProps, type DiskSource, renderDataVolume } from './data-volume.ts'
import { render } from './render.ts'
import { renderVolumeSnapshot } from './volume-snapshot.ts'

const image = { name: 'sync-workspace-123', namespace: 'team-a', uid: '01234567-89ab-cdef-0123-456789abcdef' }
const REVISION = 'afcfd968'

const dataVolume = (source: DiskSource, more: Partial<DataVolumeProps> = {}) =>
  renderDataVolume({
    image,
    name: `${image.name}-${REVISION}`,
    revision: REVISION,
    attempt: 2,
    source,
    diskSize: '24Gi',
    ...more,
  })

describe('renderDataVolume', () => {
  it('is, in full', () => {
    const source: DiskSource = { type: 's3', url: 'https://s3.eu.amazonaws.com/b/k', secretRef: 'foo-bar' }
    expect(dataVolume(source, { storageClass: 'gp3' })).toMatchSnapshot()
  })

  const url = 'https://a.example/b'
  const all = { url, secretRef: 's', certConfigMap: 'c', checksum: `md5:${'0'.repeat(32)}` }
  it.each<[DiskSource, object]>([
    [{ type: 's3', ...all }, { s3: { url, secretRef: 's', certConfigMap: 'c' } }],
    [{ type: 'http', ...all }, { http: { url, secretRef: 's', certConfigMap: 'c', checksum: all.checksum } }],
    [{ type: 'gcs', ...all }, { gcs: { url, secretRef: 's' } }],
    [{ type: 'registry', ...all }, { registry: { url, secretRef: 's', certConfigMap: 'c', pullMethod: 'pod' } }],
    [{ type: 'blank', ...all }, { blank: {} }],
    [{ type: 's3', url }, { s3: { url } }],
  ])('has exactly the fields of its source: %j', (source, expected) => {
    expect(dataVolume(source).spec.source).toEqual(expected)
  })

  it('names no storage class where none is known', () => {
    expect(Object.keys(dataVolume({ type: 'blank' }).spec.storage)).toEqual(['resources'])
  })

  it('throws without a url', () => {
    expect(() => dataVolume({ type: 'http' })).toThrow('needs a url')
  })

  it('shortens the label of a long image name and keeps it in the annotation', () => {
    const name = 'a'.repeat(100)
    const { metadata } = dataVolume({ type: 'blank' }, { image: { ...image, name } })
    expect(metadata.labels['pelotech.ot/image']?.length).toBeLessThanOrEqual(63)
    expect(metadata.annotations['pelotech.ot/image-name']).toBe(name)
  })
})

describe('renderVolumeSnapshot', () => {
  it('is, in full', () => {
    const name = `${image.name}-${REVISION}`
    expect(
      renderVolumeSnapshot({ image, name, revision: REVISION, claimName: name, snapshotClass: 'ebs' }),
    ).toMatchSnapshot()
  })
})

describe('renderDataSource', () => {
  it.each(['VolumeSnapshot', 'PersistentVolumeClaim'] as const)('is, in full, for a %s', (kind) => {
    expect(
      renderDataSource({ image, target: { kind, name: `${image.name}-${REVISION}` }, revision: REVISION }),
    ).toMatchSnapshot()
  })
})

describe('a child in the chart of an author', () => {
  it('is like any other object: with labels of the chart, and with what is added to it', () => {
    const chart = new Chart(new App(), 'chart', { labels: { team: 'a' } })
    const image = { name: 'image', namespace: 'farm', uid: 'uid' }
    const target = { kind: 'VolumeSnapshot', name: 'snapshot' } as const
    const source = new DataSource(chart, 'source', { image, target, revision: 'r' })
    source.metadata.addLabel('added', 'label')
    source.addJsonPatch(JsonPatch.replace('/spec/source/snapshot/name', 'other'))
    expect(chart.toJson()).toMatchObject([
      { metadata: { labels: { team: 'a', added: 'label' } }, spec: { source: { snapshot: { name: 'other' } } } },
    ])
    expect(Object.keys(chart.toJson()[0].spec.source.snapshot)).toEqual(['name', 'namespace'])
  })
})

describe('render', () => {
  it('makes up no names', () => {
    expect(() => render((chart) => new ApiObject(chart, 'x', { apiVersion: 'v1', kind: 'ConfigMap' }))).toThrow(
      'set metadata.name',
    )
  })

  it('keeps the order and shares nothing between calls', () => {
    const build = () =>
      render((chart) => {
        for (const name of ['b', 'a'])
          new ApiObject(chart, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
      })
    expect(build()).toEqual(build())
    expect(build().map((object) => (object as { metadata: { name: string } }).metadata.name)).toEqual(['b', 'a'])
  })
})
