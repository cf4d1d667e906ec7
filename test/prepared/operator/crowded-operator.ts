import { parentPort } from 'node:worker_threads'
import type {
  ListOptions,
  ListPage,
  RequestOptions,
  WatchEvent,
  WatchOptions,
} from '../../../operator/kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../../operator/kube/kube-object.ts'
import { largePartsMax } from '../../../operator/runtime/cache-budget.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { scriptedOperator } from './scripted-operator.ts'

/*
 * Runs an operator among more large objects than its heap could hold, in a thread of its own: a heap that is full ends the thread. The cluster
 * is in the same heap, so it stores these objects without their specs, and the client makes those as an answer arrives.
 */

const PADDED = 'example.com/padded'
const MINUTE = 60_000

function textOf(characters: number): string {
  return `"${'x'.repeat(characters)}"`
}

function listOf(item: string, count: number): string {
  return `[${Array.from({ length: count }, () => item).join()}]`
}

const USERS = listOf(`{"name":"demo","ssh_authorized_keys":${listOf(textOf(4_000), 16)}}`, 14)
const VARIABLES = [textOf(1_350_000), listOf('{}', 95_000), listOf(textOf(80), 15_000)]
const SPECS: Readonly<Record<string, readonly string[]>> = {
  Workspace: VARIABLES.map((variables) => {
    const roles = `{"build":[{"role":"r","variables":{"a":${variables}}}]}`
    const vm = `{"name":"vm","backingVMDiskImage":"img","resources":{"cpu":"1","memory":"1Gi"},"ansible":{"roles":${roles}}}`
    return `{"vms":[${vm}]}`
  }),
  VirtualMachine: [
    `{"users":${USERS},"resources":{"cpu":"2","memory":"2Gi"},"vmDiskImageRef":{"name":"img","namespace":"team"}}`,
  ],
  DataSync: [
    `{"workspaceId":"035","sourceType":"http","vms":${listOf(`{"name":"vm","url":${textOf(2_000)}}`, 100)}}`.replaceAll(
      '"name":"vm"',
      () => `"name":"vm-${Math.random().toString(36).slice(2, 10)}"`,
    ),
  ],
  Deployment: [
    `{"template":{"spec":{"containers":[{"args":${listOf(textOf(4_000), 170)}}]}}}`,
    `{"template":{"spec":{"containers":[{"args":${listOf('""', 200_000)}}]}}}`,
  ],
}
const COUNTS: Readonly<Record<string, number>> = { Workspace: 60, VirtualMachine: 60, DataSync: 80, Deployment: 140 }

class PaddedClient extends ScriptedClient {
  override async get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return padded(await super.get<T>(type, key, options))
  }

  override async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    const { project = (object: KubeObject) => object } = options
    return await super.list<T>(type, { ...options, project: (object) => project(padded(object)) })
  }

  override async replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions) {
    const { spec: _made, ...stored } = object as T & { readonly spec?: unknown }
    const isPadded = isToBePadded(object)
    return padded(await super.replaceStatus(type, (isPadded ? { ...stored, spec: {} } : object) as T, options))
  }

  override async mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: RequestOptions,
  ) {
    return padded(await super.mergePatch<T>(type, key, patch, options))
  }

  override async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    for await (const event of super.watch<T>(type, options)) {
      this.calls.length = 0
      yield event.type === 'BOOKMARK' ? event : { ...event, object: padded(event.object) }
    }
  }
}

function isToBePadded({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[PADDED] !== undefined
}

/** Parses anew each time, as of an answer: no two objects share anything. */
function padded<T extends KubeObject>(object: T): T {
  const specs = SPECS[object.kind] ?? []
  const json = specs[Number(object.metadata.annotations?.[PADDED]) % specs.length]
  return isToBePadded(object) && json !== undefined ? { ...object, spec: JSON.parse(json) } : object
}

const client = new PaddedClient('sync-operator', 'team')
const apiVersionOf = (kind: string) => (kind === 'Deployment' ? 'apps/v1' : 'pelotech.ot/v1alpha1')
for (const [kind, count] of Object.entries(COUNTS))
  for (let at = 0; at < count; at += 1)
    client.put({
      apiVersion: apiVersionOf(kind),
      kind,
      metadata: {
        name: `large-${at}`,
        uid: `${kind}-${at}`,
        generation: 1,
        annotations: { [PADDED]: String(at) },
        ...(kind === 'Deployment' && { labels: { 'pelotech.ot/workspace-uid': `Workspace-${at}` } }),
        ...(kind !== 'Workspace' && { namespace: 'team' }),
      },
      spec: {},
    } as KubeObject)
client.put({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'small', generation: 1 },
  spec: { containerClusters: [{ name: 'app', containers: [{ name: 'c', image: 'registry.example/app:1' }] }] },
} as KubeObject)

const stop = new AbortController()
const running = scriptedOperator(client, { largePartsMax: largePartsMax() }).run(stop.signal)
for (let left = 5; left > 0; left -= 1) {
  await client.clock.advance(MINUTE)
  client.calls.length = 0
}
const untold = Object.keys(COUNTS).flatMap((kind) =>
  client.all(kind).filter((one) => kind !== 'Deployment' && (one as { status?: object }).status === undefined),
)
parentPort?.postMessage({
  untold: untold.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  made: client.all('Deployment').some(({ metadata }) => metadata.namespace === 'small'),
})
stop.abort()
await client.clock.advance(MINUTE)
await running
