import { randomBytes } from 'node:crypto'
import { expect, inject } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION } from '../../operator/kube/resource-types.ts'
import { create, eventsUntil, object, position, summary, untilGone } from './objects.ts'
import {
  conformAlone,
  EXPIRED,
  memoryServer,
  type Refusal,
  realServer,
  refusalOf,
  type Server,
  type Subject,
  untilServed,
} from './subjects.ts'

/** The response to a path that is not served: a plain 404 without a Status. */
const NOT_SERVED: Refusal = { reason: 'NotFound', status: 404, serverReason: '', causes: [] }
/** An open watch of a removed kind may continue until its own end. */
const WATCH_SECONDS = 20

/** A server on which a kind can be installed and uninstalled. */
interface Growing extends Server {
  /** Resolves when it is served. */
  install(type: ResourceType): Promise<void>
  /** Resolves when it is not served any more. */
  uninstall(type: ResourceType): Promise<void>
}

async function realGrowing(): Promise<Growing> {
  const server = await realServer(inject('kubeconfig'))
  const { client } = server
  return {
    ...server,
    async install(type) {
      await client.create(CUSTOM_RESOURCE_DEFINITION, definitionOf(type))
      await untilServed(client, type)
    },
    async uninstall(type) {
      const { metadata } = definitionOf(type)
      const definition = await client.get(CUSTOM_RESOURCE_DEFINITION, metadata)
      await client.delete(CUSTOM_RESOURCE_DEFINITION, metadata)
      await untilGone({ client } as Subject, CUSTOM_RESOURCE_DEFINITION, definition)
      // The part of the server that serves kinds observes the deletion a moment later.
      while (await isServed(server, type));
    },
  }
}

async function memoryGrowing(): Promise<Growing> {
  const server = memoryServer()
  const { cluster } = server
  return {
    ...server,
    install: async (type) => cluster.install(type),
    uninstall: async (type) => cluster.uninstall(type),
  }
}

conformAlone(
  'a kind that is installed and removed is served meanwhile, and comes back empty',
  { memory: memoryGrowing, real: realGrowing },
  async (server, subject) => {
    const type = throwAway()
    try {
      await expectNotServed(subject, type)
      await server.install(type)
      const first = await expectServed(subject, type)
      const { opened, told } = watchToTheEnd(subject, type, first.resourceVersion)
      await opened
      await server.uninstall(type)
      expect(summary(await told)).toEqual(['ADDED a', 'DELETED a'])
      await expectNotServed(subject, type)
      await server.install(type)
      const old = eventsUntil(subject, type, first.resourceVersion, () => true)
      expect(await refusalOf(old)).toEqual(EXPIRED)
      const second = await expectServed(subject, type)
      expect(second.uid).not.toBe(first.uid)
    } finally {
      if (await isServed(server, type)) await server.uninstall(type)
    }
  },
)

async function expectNotServed(subject: Subject, type: ResourceType): Promise<void> {
  const { client, namespace } = subject
  const key = { namespace, name: 'a' }
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => client.get(type, key),
    list: () => client.list(type, { namespace }),
    create: () => create(type, subject, 'a'),
    replaceStatus: () => client.replaceStatus(type, object(type, subject, 'a', { resourceVersion: '1' })),
    mergePatch: () => client.mergePatch(type, key, { metadata: { labels: { a: 'b' } } }),
    delete: () => client.delete(type, key),
    watch: () => eventsUntil(subject, type, '1', () => true),
  }
  for (const [verb, request] of Object.entries(requests)) expect(await refusalOf(request()), verb).toEqual(NOT_SERVED)
  const name = definitionOf(type).metadata.name
  expect(await refusalOf(client.get(CUSTOM_RESOURCE_DEFINITION, { name }))).toMatchObject({ serverReason: 'NotFound' })
}

/** Expects the kind to be empty, to accept an object and to send its event. Resolves with the position before that, and the uid. */
async function expectServed(subject: Subject, type: ResourceType): Promise<{ resourceVersion: string; uid: string }> {
  const { client, namespace } = subject
  expect((await client.list(type, { namespace })).items).toEqual([])
  const name = definitionOf(type).metadata.name
  expect(await client.get(CUSTOM_RESOURCE_DEFINITION, { name })).toMatchObject({
    spec: { group: type.group, names: { kind: type.kind, plural: type.plural } },
  })
  const resourceVersion = await position(subject, type)
  const { metadata } = await create(type, subject, 'a')
  expect(metadata).toMatchObject({ generation: 1 })
  expect(summary(await eventsUntil(subject, type, resourceVersion, () => true))).toEqual(['ADDED a'])
  return { resourceVersion, uid: metadata.uid ?? '' }
}

/** `opened` resolves at the first event, `told` with all events when the watch has ended normally. */
function watchToTheEnd(subject: Subject, type: ResourceType, resourceVersion: string) {
  const first = Promise.withResolvers<void>()
  const isLast = () => {
    first.resolve()
    return false
  }
  const told = eventsUntil(subject, type, resourceVersion, isLast, { timeoutSeconds: WATCH_SECONDS })
  told.catch(first.reject)
  return { opened: first.promise, told }
}

async function isServed({ client }: Server, type: ResourceType): Promise<boolean> {
  try {
    await client.list(type)
    return true
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    return false
  }
}

/** A kind that no other test uses. */
function throwAway(): ResourceType {
  const group = `t${randomBytes(4).toString('hex')}.conformance.example.com`
  return { group, version: 'v1', kind: 'Visitor', plural: 'visitors', namespaced: true }
}

function definitionOf({ group, version, kind, plural, namespaced }: ResourceType): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: apiVersionOf(CUSTOM_RESOURCE_DEFINITION),
    kind: CUSTOM_RESOURCE_DEFINITION.kind,
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  } as KubeObject
}
