import { expect } from 'vitest'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, HOLD, object, PLURAL_OF_KIND } from './objects.ts'
import { conform, type Refusal, refusalOf, type Subject } from './subjects.ts'

const NOT_FOUND: Refusal = { reason: 'NotFound', status: 404, serverReason: 'NotFound', causes: [] }
const NOT_SERVED: Refusal = { ...NOT_FOUND, serverReason: '' }
const CONFLICT: Refusal = { reason: 'Conflict', status: 409, serverReason: 'Conflict', causes: [] }
const BAD_REQUEST: Refusal = { reason: 'Rejected', status: 400, serverReason: 'BadRequest', causes: [] }
const INVALID: Refusal = { reason: 'Rejected', status: 422, serverReason: 'Invalid', causes: [] }

type Request = (subject: Subject, type: ResourceType) => Promise<unknown>

/** The same for built-in kinds and custom ones. */
const REQUESTS: readonly (readonly [name: string, request: Request, refusal: Refusal])[] = [
  [
    'get of what is not there',
    ({ client, namespace }, type) => client.get(type, { namespace, name: 'none' }),
    NOT_FOUND,
  ],
  [
    'delete of what is not there',
    ({ client, namespace }, type) => client.delete(type, { namespace, name: 'none' }),
    NOT_FOUND,
  ],
  [
    'patch of what is not there',
    ({ client, namespace }, type) => client.mergePatch(type, { namespace, name: 'none' }, {}),
    NOT_FOUND,
  ],
  [
    'get in a namespace that is not there',
    ({ client }, type) => client.get(type, { namespace: 'none', name: 'a' }),
    NOT_FOUND,
  ],
  [
    'create in a namespace that is not there',
    (subject, type) => subject.client.create(type, object(type, { ...subject, namespace: 'none' }, 'a')),
    NOT_FOUND,
  ],
  [
    'create of what exists',
    async (subject, type) => {
      await create(type, subject, 'a')
      await create(type, subject, 'a')
    },
    { reason: 'AlreadyExists', status: 409, serverReason: 'AlreadyExists', causes: [] },
  ],
  [
    'create with a resourceVersion',
    (subject, type) => create(type, subject, 'a', { resourceVersion: '1' }),
    { reason: 'Unavailable', status: 500, serverReason: '', causes: [] },
  ],
  [
    'replace of an older version',
    async (subject, type) => {
      const old = await create(type, subject, 'a')
      await subject.client.mergePatch(type, old.metadata, { metadata: { labels: { a: 'b' } } })
      await subject.client.replace(type, old)
    },
    CONFLICT,
  ],
  [
    'replace of a namesake',
    async (subject, type) => {
      const one = await create(type, subject, 'a')
      await subject.client.replace(type, { ...one, metadata: { ...one.metadata, uid: 'other' } })
    },
    CONFLICT,
  ],
  [
    'patch of an older version',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a')
      await subject.client.mergePatch(type, metadata, { metadata: { labels: { a: 'b' } } })
      const { resourceVersion } = metadata
      await subject.client.mergePatch(type, metadata, { metadata: { resourceVersion, labels: { c: 'd' } } })
    },
    CONFLICT,
  ],
  [
    'patch of a namesake',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a')
      await subject.client.mergePatch(type, metadata, { metadata: { uid: 'other', labels: { c: 'd' } } })
    },
    { ...INVALID, causes: ['FieldValueInvalid', 'FieldValueInvalid'] },
  ],
  [
    'patch of an older version of a namesake',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a')
      await subject.client.mergePatch(type, metadata, { metadata: { uid: 'other', resourceVersion: '1' } })
    },
    CONFLICT,
  ],
  [
    'delete of a namesake',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a')
      await subject.client.delete(type, metadata, { uid: 'other' })
    },
    CONFLICT,
  ],
  [
    'delete of an older version',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a')
      await subject.client.delete(type, metadata, { resourceVersion: '1' })
    },
    CONFLICT,
  ],
  [
    'another finalizer on what is being deleted',
    async (subject, type) => {
      const { metadata } = await create(type, subject, 'a', { finalizers: [HOLD] })
      await subject.client.delete(type, metadata)
      await subject.client.mergePatch(type, metadata, { metadata: { finalizers: [HOLD, `${HOLD}-2`] } })
    },
    { ...INVALID, causes: ['FieldValueForbidden', 'FieldValueForbidden'] },
  ],
  [
    'list by a field that nobody knows',
    ({ client, namespace }, type) => client.list(type, { namespace, fieldSelector: 'spec.none=a' }),
    BAD_REQUEST,
  ],
  [
    'list with a garbled continue token',
    ({ client, namespace }, type) => client.list(type, { namespace, limit: 1, continueToken: 'garbled' }),
    BAD_REQUEST,
  ],
]

for (const type of [CONFIG_MAP, IMAGE]) {
  conform(
    `refusals: ${type.kind}`,
    Object.fromEntries(
      REQUESTS.map(([name, request, refusal]) => [
        name,
        async (subject: Subject) => expect(await refusalOf(request(subject, type))).toEqual(refusal),
      ]),
    ),
  )
}

conform('refusals', {
  'of a kind that is not installed': async (subject) => {
    const { client, namespace } = subject
    const type = PLURAL_OF_KIND
    const watching = async () => {
      for await (const _event of client.watch(type, { resourceVersion: '1' })) break
    }
    const requests = [() => client.list(type), () => client.get(type, { namespace, name: 'a' }), watching]
    for (const request of requests) expect(await refusalOf(request())).toEqual(NOT_SERVED)
    expect(await refusalOf(create(type, subject, 'a'))).toEqual(NOT_SERVED)
  },
  'of a status older than what is there': async (subject) => {
    const old = await create(IMAGE, subject, 'a')
    await subject.client.replaceStatus(IMAGE, { ...old, status: { phase: 'Queued' } } as never)
    const again = subject.client.replaceStatus(IMAGE, { ...old, status: { phase: 'Failed' } } as never)
    expect(await refusalOf(again)).toEqual(CONFLICT)
  },
  'of a status that is no subresource': async (subject) => {
    const one = await create(CONFIG_MAP, subject, 'a')
    expect(await refusalOf(subject.client.replaceStatus(CONFIG_MAP, one))).toEqual(NOT_FOUND)
  },
  'of a namespace that exists': async ({ client, namespace }) => {
    const again = client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    expect((await refusalOf(again)).reason).toBe('AlreadyExists')
  },
})
