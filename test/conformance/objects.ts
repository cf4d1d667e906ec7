import { vmDiskImage } from '@open-terrain/constructs/operator'
import type { WatchEvent } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject, type ObjectMeta, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, SECRET } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import type { Subject } from './subjects.ts'

/** Objects that a real API server accepts, and functions to inspect what it makes of them. */

export type Meta = Partial<ObjectMeta>
export type Full = KubeObject & {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, string>>
}

export const HOLD = 'conformance.example.com/hold'

const BODIES: readonly (readonly [ResourceType, Record<string, unknown>])[] = [
  [CONFIG_MAP, { data: { a: '1', b: '2' } }],
  [SECRET, { data: { password: 'c2VjcmV0' } }],
  [POD, { spec: { containers: [{ name: 'main', image: 'example.com/a:1' }] } }],
  [
    PERSISTENT_VOLUME_CLAIM,
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'none' } },
  ],
  [
    IMAGE,
    {
      spec: {
        sourceType: 'http',
        url: 'https://images.example.com/a.qcow2',
        diskSize: '16Mi',
        storageClass: 'fast',
      },
    },
  ],
  [
    DATA_VOLUME,
    {
      spec: {
        source: { blank: {} },
        storage: { resources: { requests: { storage: '1Gi' } }, storageClassName: 'none' },
      },
    },
  ],
]

/** A valid object of a kind. */
export function object(type: ResourceType, { namespace }: Subject, name: string, metadata: Meta = {}): Full {
  const [, body = {}] = BODIES.find(([one]) => one === type) ?? []
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { namespace, ...metadata, name }, ...body }
}

export function create(type: ResourceType, subject: Subject, name: string, metadata: Meta = {}): Promise<Full> {
  return subject.client.create<Full>(type, object(type, subject, name, metadata))
}

export function ownedBy(owner: KubeObject, blockOwnerDeletion = true): Meta {
  const { apiVersion, kind, metadata } = owner
  return { ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', blockOwnerDeletion }] }
}

/** Removes what only a real server keeps, with the times of its clock. */
export function essence({ metadata, ...rest }: KubeObject): unknown {
  const { managedFields: _who, ...kept } = metadata as ObjectMeta & { managedFields?: unknown }
  return { ...rest, metadata: kept }
}

export function versionOf({ metadata }: KubeObject): bigint {
  return BigInt(metadata.resourceVersion ?? '0')
}

/** `ADDED a`, `BOOKMARK`; repeated bookmarks count once. */
export function summary(events: readonly WatchEvent<KubeObject>[]): string[] {
  const lines = events.map((event) =>
    event.type === 'BOOKMARK' ? event.type : `${event.type} ${event.object.metadata.name}`,
  )
  return lines.filter((line, at) => line !== 'BOOKMARK' || lines[at - 1] !== 'BOOKMARK')
}

export interface Looking {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly metadataOnly?: boolean
  readonly timeoutSeconds?: number
}

/** The events of one kind in the namespace of the test, from a position on until the one for which `isLast` is true. */
export async function eventsUntil(
  { client, namespace }: Subject,
  type: ResourceType,
  resourceVersion: string,
  isLast: (event: Exclude<WatchEvent<Full>, { type: 'BOOKMARK' }>) => boolean,
  options: Looking = {},
): Promise<WatchEvent<Full>[]> {
  const seen: WatchEvent<Full>[] = []
  for await (const event of client.watch<Full>(type, { namespace, resourceVersion, ...options })) {
    if (event.type === 'BOOKMARK') continue
    seen.push(event)
    if (isLast(event)) break
  }
  return seen
}

/** The position from which a watch sees everything that happens from now on. */
export async function position({ client, namespace }: Subject, type: ResourceType): Promise<string> {
  return (await client.list(type, { namespace })).resourceVersion
}

/** Resolves with the last state of an object when it is gone. */
export async function untilGone(subject: Subject, type: ResourceType, { metadata }: KubeObject): Promise<Full> {
  const from = metadata.resourceVersion ?? '0'
  const fieldSelector = `metadata.name=${metadata.name}`
  const events = await eventsUntil(subject, type, from, ({ type: what }) => what === 'DELETED', { fieldSelector })
  const last = events.at(-1)
  if (last === undefined || last.type === 'BOOKMARK') throw new Error('the watch ended early')
  return last.object
}

/** Resolves with an object as soon as `isWanted` is true for it. */
export async function untilIs(
  subject: Subject,
  type: ResourceType,
  { metadata }: KubeObject,
  isWanted: (object: Full) => boolean,
): Promise<Full> {
  const current = await subject.client.get<Full>(type, metadata)
  if (isWanted(current)) return current
  const fieldSelector = `metadata.name=${metadata.name}`
  const from = current.metadata.resourceVersion ?? '0'
  const events = await eventsUntil(subject, type, from, (event) => isWanted(event.object), { fieldSelector })
  const last = events.at(-1)
  if (last === undefined || last.type === 'BOOKMARK') throw new Error('the watch ended early')
  return last.object
}

export const PLURAL_OF_KIND: ResourceType = {
  group: vmDiskImage.group,
  version: vmDiskImage.version,
  kind: 'Stranger',
  plural: 'strangers',
  namespaced: true,
}
