import { describe, expect, it } from 'vitest'
import { aConfigMap, KEY, respond, useHttpBench } from '../../test/prepared/kube/http-bench.ts'
import type { HttpKubeClient } from './http-client.ts'
import type { KubeObject } from './kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, NAMESPACE, SECRET } from './resource-types.ts'

const bench = useHttpBench()

describe('requests', () => {
  it.each<[string, (one: HttpKubeClient) => Promise<unknown>, string]>([
    ['get', (one) => one.get(CONFIG_MAP, KEY), 'GET /prefix/api/v1/namespaces/n/configmaps/a'],
    ['get without a namespace', (one) => one.get(NAMESPACE, { name: 'n' }), 'GET /prefix/api/v1/namespaces/n'],
    [
      'get of a group',
      (one) => one.get(DATA_VOLUME, KEY),
      'GET /prefix/apis/cdi.kubevirt.io/v1beta1/namespaces/n/datavolumes/a',
    ],
    ['replace', (one) => one.replace(CONFIG_MAP, aConfigMap()), 'PUT /prefix/api/v1/namespaces/n/configmaps/a'],
    ['create', (one) => one.create(CONFIG_MAP, aConfigMap()), 'POST /prefix/api/v1/namespaces/n/configmaps'],
    [
      'create, with known fields alone',
      (one) => one.create(CONFIG_MAP, aConfigMap(), { isStrict: true }),
      'POST /prefix/api/v1/namespaces/n/configmaps?fieldValidation=Strict',
    ],
    [
      'mergePatch, with known fields alone',
      (one) => one.mergePatch(CONFIG_MAP, KEY, {}, { isStrict: true }),
      'PATCH /prefix/api/v1/namespaces/n/configmaps/a?fieldValidation=Strict',
    ],
    [
      'replaceStatus',
      (one) => one.replaceStatus(CONFIG_MAP, aConfigMap()),
      'PUT /prefix/api/v1/namespaces/n/configmaps/a/status',
    ],
    [
      'a name that is no path',
      (one) => one.get(CONFIG_MAP, { namespace: 'n', name: '../b' }),
      'GET /prefix/api/v1/namespaces/n/configmaps/..%2Fb',
    ],
  ])('%s', async (_name, call, expected) => {
    bench.answer = (response) => respond(response, 200, aConfigMap())
    await call(bench.client)
    expect(bench.request).toBe(expected)
    expect(bench.seen[0]?.headers).toMatchObject({ authorization: 'Bearer the-token', 'user-agent': 'tester' })
  })

  it('patch by merging', async () => {
    bench.answer = (response) => respond(response, 200, aConfigMap())
    await bench.client.mergePatch(CONFIG_MAP, KEY, { data: { a: null } })
    expect(bench.request).toBe('PATCH /prefix/api/v1/namespaces/n/configmaps/a')
    expect(bench.seen[0]).toMatchObject({
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"data":{"a":null}}',
    })
  })

  it('return objects with the apiVersion and kind of their type', async () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'n', resourceVersion: '5' },
    }
    bench.answer = (response) => respond(response, 200, { metadata: object.metadata })
    const { client } = bench
    expect(await client.get(CONFIG_MAP, KEY)).toEqual(object)
    expect(await client.create(CONFIG_MAP, object)).toEqual(object)
    expect(await client.replaceStatus(CONFIG_MAP, object)).toEqual(object)
    expect(await client.mergePatch(CONFIG_MAP, KEY, {})).toEqual(object)
  })

  it('delete with preconditions', async () => {
    bench.answer = (response) => respond(response, 200, {})
    await bench.client.delete(CONFIG_MAP, KEY, { uid: 'u', resourceVersion: '5', propagationPolicy: 'Foreground' })
    expect(JSON.parse(bench.seen[0]?.body ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Foreground',
      preconditions: { uid: 'u', resourceVersion: '5' },
    })
  })

  it('delete without conditions', async () => {
    bench.answer = (response) => respond(response, 202, {})
    await bench.client.delete(CONFIG_MAP, KEY)
    expect(JSON.parse(bench.seen[0]?.body ?? '')).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions' })
  })

  it('never replace without a version', () => {
    const blind = { ...aConfigMap(), metadata: KEY }
    expect(() => bench.client.replace(CONFIG_MAP, blind)).toThrow('resourceVersion')
    expect(bench.seen).toEqual([])
  })

  it('list pages, and name what lists leave out', async () => {
    bench.answer = (response) =>
      respond(response, 200, {
        metadata: { resourceVersion: '7', continue: 'more' },
        items: [{ metadata: { name: 'x' } }],
      })
    const page = await bench.client.list(DATA_VOLUME, { labelSelector: 'a=b', limit: 3, continueToken: 'c' })
    expect(bench.request).toBe(
      'GET /prefix/apis/cdi.kubevirt.io/v1beta1/datavolumes?labelSelector=a%3Db&limit=3&continue=c',
    )
    expect(page).toEqual({
      items: [{ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata: { name: 'x' } }],
      resourceVersion: '7',
      continueToken: 'more',
      bytes: 90,
    })
  })

  it('keep of each object of a list what is asked for, before the next one is read', async () => {
    const items = Array.from({ length: 20 }, (_, at) => ({ metadata: { name: `${at}` }, data: 'x'.repeat(100_000) }))
    bench.answer = (response) => respond(response, 200, { metadata: { resourceVersion: '7' }, items })
    const project = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`
    const page = await bench.client.list(CONFIG_MAP, { project })
    expect(page.items).toEqual(items.map((_, at) => `ConfigMap ${at}`))
    expect(page.bytes).toBeGreaterThan(2_000_000)
  })

  it('have no answer where a list is cut', async () => {
    bench.answer = (response) => {
      response.writeHead(200).end('{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"meta')
    }
    await expect(bench.client.list(CONFIG_MAP)).rejects.toMatchObject({ reason: 'NoAnswer' })
  })

  it('are refused in words of any length, of which no more is read than any object has', async () => {
    bench.answer = (response) => respond(response, 403, { message: 'a.'.repeat(3_000_000), reason: 'Forbidden' })
    const refused = await bench.client.get(CONFIG_MAP, KEY).catch((error: Error) => error)
    expect(refused).toMatchObject({ reason: 'Rejected', status: 403 })
    expect((refused as Error).message).toBe('get configmaps: the API server answered 403')
  })

  it.each([null, undefined])('list nothing: items %s, the last page', async (items) => {
    bench.answer = (response) => respond(response, 200, { metadata: { resourceVersion: '7', continue: '' }, items })
    expect(await bench.client.list(CONFIG_MAP)).toMatchObject({ items: [], resourceVersion: '7' })
  })

  it('ask for metadata alone, and name the kind as it is', async () => {
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'x' } }
    bench.answer = (response) => respond(response, 200, { metadata: { resourceVersion: '7' }, items: [partial] })
    const { items } = await bench.client.list(SECRET, { metadataOnly: true })
    expect(bench.seen[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1')
    expect(items).toEqual([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }])
  })
})

describe('a request that is taken with warnings', () => {
  it('reports their texts', async () => {
    const texts = ['299 - "unknown field \\"spec.a\\""', '299 - "v1beta1 is deprecated"']
    bench.answer = (response) => respond(response.setHeader('warning', texts), 201, aConfigMap())
    await bench.client.create(CONFIG_MAP, aConfigMap())
    expect(bench.reports).toMatchObject([{ code: '201', warning: 'unknown field "spec.a"; v1beta1 is deprecated' }])
  })

  it('reports none where there is none', async () => {
    bench.answer = (response) => respond(response, 201, aConfigMap())
    await bench.client.create(CONFIG_MAP, aConfigMap())
    expect(bench.reports[0]).not.toHaveProperty('warning')
  })
})
