import { expect } from 'vitest'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, essence, eventsUntil, type Full, HOLD, object, position, summary, versionOf } from './objects.ts'
import { conform, type Subject } from './subjects.ts'

conform('create', {
  'fills in what identifies an object, whatever the client says': async (subject) => {
    const claimed = {
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
    }
    const { metadata } = await create(CONFIG_MAP, subject, 'a', { ...claimed, labels: {}, finalizers: [] })
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(metadata.creationTimestamp).toMatch(/^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(metadata.creationTimestamp).not.toBe(claimed.creationTimestamp)
    expect(metadata).toMatchObject({ namespace: subject.namespace, name: 'a' })
    expect(metadata).not.toHaveProperty('deletionTimestamp')
    expect(metadata).not.toHaveProperty('labels')
    expect(metadata).not.toHaveProperty('finalizers')
  },
  'drops the status of kinds whose status is a subresource': async (subject) => {
    const wanted = { ...object(IMAGE, subject, 'a'), status: { phase: 'Succeeded' } }
    // What is left is the default of its CRD.
    expect((await subject.client.create<Full>(IMAGE, wanted)).status).toEqual({ observedGeneration: -1 })
  },
  'counts generations from 1, for kinds that have them': async (subject) => {
    const generations: unknown[] = []
    for (const type of [IMAGE, DATA_VOLUME, POD, CONFIG_MAP, PERSISTENT_VOLUME_CLAIM]) {
      generations.push((await create(type, subject, 'a')).metadata.generation)
    }
    expect(generations).toEqual([1, 1, 1, undefined, undefined])
  },
  'has new claims protected and pending, and new pods pending': async (subject) => {
    const claim = await create(PERSISTENT_VOLUME_CLAIM, subject, 'a')
    expect(claim.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
    expect(claim.status).toEqual({ phase: 'Pending' })
    expect(claim.spec?.['volumeMode']).toBe('Filesystem')
    expect((await create(POD, subject, 'a')).status?.['phase']).toBe('Pending')
  },
  'answers what get and list then say': async (subject) => {
    const created = await create(IMAGE, subject, 'a', {
      labels: { a: 'b' },
      annotations: { c: 'd' },
      finalizers: [HOLD],
    })
    expect(await subject.client.get(IMAGE, created.metadata)).toEqual(created)
    const { items } = await subject.client.list(IMAGE, { namespace: subject.namespace })
    expect(items).toEqual([created])
  },
})

conform('resourceVersion', {
  'grows with every write to whatever kind, and lists tell the newest': async (subject) => {
    const { client, namespace } = subject
    const versions = [BigInt(await position(subject, CONFIG_MAP))]
    versions.push(versionOf(await create(CONFIG_MAP, subject, 'a')))
    const image = await create(IMAGE, subject, 'a')
    versions.push(versionOf(image))
    versions.push(versionOf(await client.replaceStatus<Full>(IMAGE, { ...image, status: { phase: 'Queued' } })))
    versions.push(versionOf(await create(POD, subject, 'a')))
    expect(versions).toEqual(versions.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(versions).size).toBe(versions.length)
    const listed = await client.list(CONFIG_MAP, { namespace })
    expect(BigInt(listed.resourceVersion)).toBeGreaterThanOrEqual(versions.at(-1) ?? 0n)
  },
  'stays when a write changes nothing, and no watch tells of it': async (subject) => {
    const { client } = subject
    const image = await create(IMAGE, subject, 'a', { labels: { a: 'b' }, finalizers: [HOLD] })
    const before = await client.replaceStatus<Full>(IMAGE, { ...image, status: { phase: 'Queued' } })
    const answers = [
      await client.replace<Full>(IMAGE, before),
      await client.replaceStatus<Full>(IMAGE, before),
      await client.mergePatch<Full>(IMAGE, before.metadata, { metadata: { labels: { a: 'b', c: null } } }),
      await client.mergePatch<Full>(IMAGE, before.metadata, { status: { phase: 'Failed' } }),
      await client.mergePatch<Full>(IMAGE, before.metadata, { metadata: { generation: 99, deletionTimestamp: null } }),
    ]
    for (const answer of answers) expect(essence(answer)).toEqual(essence(before))
    await create(IMAGE, subject, 'z')
    const from = before.metadata.resourceVersion ?? ''
    const events = await eventsUntil(subject, IMAGE, from, (event) => event.object.metadata.name === 'z')
    expect(summary(events)).toEqual(['ADDED z'])
  },
})

/** A change, and by how much it raises the generation. */
const CHANGES: readonly (readonly [name: string, type: ResourceType, change: Change, raises: number])[] = [
  ['a patch of the spec', IMAGE, patch({ spec: { diskSize: '17Mi' } }), 1],
  ['a patch of the spec', DATA_VOLUME, patch({ spec: { priorityClassName: 'high' } }), 1],
  [
    'a replaced spec',
    IMAGE,
    ({ client }, one) => client.replace(IMAGE, { ...one, spec: { ...one.spec, name: 'b' } }),
    1,
  ],
  ['labels and annotations', IMAGE, patch({ metadata: { labels: { a: 'b' }, annotations: { a: 'b' } } }), 0],
  ['a finalizer', DATA_VOLUME, patch({ metadata: { finalizers: [HOLD] } }), 0],
  ['a finalizer', POD, patch({ metadata: { finalizers: [HOLD] } }), 0],
  ['a status', IMAGE, ({ client }, one) => client.replaceStatus(IMAGE, { ...one, status: { phase: 'Queued' } }), 0],
  ['a status', POD, ({ client }, one) => client.replaceStatus(POD, { ...one, status: { phase: 'Running' } }), 0],
  ['a status beside a spec', IMAGE, patch({ spec: { diskSize: '18Mi' }, status: { phase: 'Failed' } }), 1],
  ['a status alone, in a patch of the object', IMAGE, patch({ status: { phase: 'Failed' } }), 0],
  ['a deletion that a finalizer holds', IMAGE, held(IMAGE), 1],
  ['a deletion that a finalizer holds', POD, held(POD), 1],
]

type Change = (subject: Subject, object: Full, type: ResourceType) => Promise<Full>

function patch(body: object): Change {
  return ({ client }, { metadata }, type) => client.mergePatch<Full>(type, metadata, body)
}

function held(type: ResourceType): Change {
  return async ({ client }, { metadata }) => {
    await client.mergePatch(type, metadata, { metadata: { finalizers: [HOLD] } })
    await client.delete(type, metadata)
    return await client.get<Full>(type, metadata)
  }
}

conform(
  'generation',
  Object.fromEntries(
    CHANGES.map(([name, type, change, raises]) => [
      `${raises === 0 ? 'stays' : 'grows'} with ${name}: ${type.kind}`,
      async (subject: Subject) => {
        const before = await create(type, subject, 'a')
        const after = await change(subject, before, type)
        expect((after.metadata.generation ?? 0) - (before.metadata.generation ?? 0)).toBe(raises)
      },
    ]),
  ),
)

conform('updates', {
  'of the status leave everything else alone': async (subject) => {
    const before = await create(IMAGE, subject, 'a', { labels: { a: 'b' } })
    const after = await subject.client.replaceStatus<Full>(IMAGE, {
      ...before,
      metadata: { ...before.metadata, labels: { c: 'd' }, finalizers: [HOLD] },
      spec: { ...before.spec, diskSize: '99Mi' },
      status: { phase: 'Queued' },
    })
    expect(after.spec).toEqual(before.spec)
    expect(after.metadata.labels).toEqual({ a: 'b' })
    expect(after.metadata.finalizers).toBeUndefined()
    expect(after.status).toEqual({ phase: 'Queued' })
  },
  'of the object leave the status alone': async (subject) => {
    const created = await create(IMAGE, subject, 'a')
    const before = await subject.client.replaceStatus<Full>(IMAGE, { ...created, status: { phase: 'Queued' } })
    const { status: _gone, ...withoutStatus } = before
    const after = await subject.client.replace<Full>(IMAGE, { ...withoutStatus, spec: { ...before.spec, name: 'new' } })
    expect(after.status).toEqual({ phase: 'Queued' })
    expect(after.spec?.['name']).toBe('new')
  },
  'of a pod’s status take along its annotations and finalizers, but nothing of its spec': async (subject) => {
    const pod = await create(POD, subject, 'a')
    const annotations = { 'k8s.v1.cni.cncf.io/network-status': '[]' }
    const metadata = { ...pod.metadata, annotations, finalizers: [HOLD] }
    const spec = { ...pod.spec, nodeName: 'elsewhere' }
    const after = await subject.client.replaceStatus<Full>(POD, {
      ...pod,
      metadata,
      spec,
      status: { phase: 'Running' },
    })
    expect(after.metadata).toMatchObject({ annotations, finalizers: [HOLD] })
    expect(after.status).toMatchObject({ phase: 'Running' })
    expect(after.spec).toEqual(pod.spec)
  },
  'by merge patch add, replace and remove members': async (subject) => {
    const { metadata } = await create(CONFIG_MAP, subject, 'a', { labels: { a: '1', b: '2' }, finalizers: [HOLD] })
    const change = { metadata: { labels: { a: null, c: '3' }, finalizers: null }, data: { a: null, c: '3' } }
    const after = await subject.client.mergePatch<Full>(CONFIG_MAP, metadata, change)
    expect(after.data).toEqual({ b: '2', c: '3' })
    expect(after.metadata.labels).toEqual({ b: '2', c: '3' })
    expect(after.metadata).not.toHaveProperty('finalizers')
  },
  'by merge patch replace lists as a whole': async (subject) => {
    const { metadata } = await create(CONFIG_MAP, subject, 'a', { finalizers: [HOLD, `${HOLD}-2`] })
    const body = {
      metadata: { finalizers: [`${HOLD}-3`], resourceVersion: metadata.resourceVersion, uid: metadata.uid },
    }
    const after = await subject.client.mergePatch<Full>(CONFIG_MAP, metadata, body)
    expect(after.metadata.finalizers).toEqual([`${HOLD}-3`])
    expect(after.metadata.uid).toBe(metadata.uid)
  },
})
