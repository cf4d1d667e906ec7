import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import { inParallel } from '../harness/in-parallel.ts'
import { stopwatch } from './stopwatch.ts'

/** The kinds that the operator creates in the namespace of a workspace, in the same order. */
const TYPES: readonly ResourceType[] = [
  types.NETWORK_POLICY,
  types.NETWORK_ATTACHMENT_DEFINITION,
  types.PERSISTENT_VOLUME_CLAIM,
  types.CONFIG_MAP,
  types.DEPLOYMENT,
  types.SECRET,
  types.DATA_VOLUME,
  types.KUBEVIRT_VIRTUAL_MACHINE,
]

/** An object that can be created in a namespace of any name. */
interface Model {
  readonly type: ResourceType
  readonly text: string
}

/**
 * Returns the objects of a Ready workspace, including KubeVirt machines and their disks, so that {@link runBareWorkspaces} can create them again
 * without the operator.
 */
export async function modelOf(client: KubeClient, workspace: string): Promise<readonly Model[]> {
  const models: Model[] = []
  for (const type of TYPES) {
    const { items } = await client.list<KubeObject>(type, { namespace: workspace })
    for (const item of items) {
      // CDI creates the claims of disks, and controllers of the cluster create its certificates.
      if (item.metadata.labels?.[LABELS.managedBy] !== MANAGER) continue
      models.push({ type, text: JSON.stringify(blank(type, item)) })
    }
  }
  return models
}

/**
 * Measures how long the simulators alone take for workspaces: a bare client creates all objects that the operator would create, without waiting in
 * between. No operator may run at the same time. Resolves with the seconds until all guests and all containers run.
 */
export async function runBareWorkspaces(
  client: KubeClient,
  {
    workspace,
    models,
    count,
    timeoutMs,
  }: { workspace: string; models: readonly Model[]; count: number; timeoutMs: number },
): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs)
  const countOf = (type: ResourceType) => models.filter((model) => model.type === type).length * count
  const passed = stopwatch()
  await Promise.all([
    inParallel(count, async (at) => {
      const name = `${PREFIX}${at}`
      await client.create(types.NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as KubeObject)
      for (const { type, text } of models) {
        await client.create(type, JSON.parse(text.replaceAll(workspace, name)) as KubeObject)
      }
    }),
    untilAll(client, types.KUBEVIRT_VIRTUAL_MACHINE, countOf(types.KUBEVIRT_VIRTUAL_MACHINE), isRunning, signal),
    untilAll(client, types.DEPLOYMENT, countOf(types.DEPLOYMENT), isAvailable, signal),
  ])
  return passed()
}

const PREFIX = 'bare-'

/** Removes the fields that the API server and controllers have added. */
function blank(type: ResourceType, object: KubeObject): object {
  const { metadata, status: _status, ...rest } = object as KubeObject & { status?: unknown; spec?: object }
  const { name, namespace, labels, annotations } = metadata
  const bare = { ...rest, apiVersion: apiVersionOf(type), kind: type.kind }
  const { volumeName: _volume, ...spec } = (rest.spec ?? {}) as Record<string, unknown>
  return {
    ...bare,
    metadata: { name, namespace, labels, annotations },
    ...(rest.spec !== undefined && { spec: type === types.PERSISTENT_VOLUME_CLAIM ? spec : rest.spec }),
  }
}

type Reported = KubeObject & { readonly status?: { readonly ready?: boolean; readonly availableReplicas?: number } }

const isRunning = ({ status }: Reported) => status?.ready === true
const isAvailable = ({ status }: Reported) => (status?.availableReplicas ?? 0) > 0

async function untilAll(
  client: KubeClient,
  type: ResourceType,
  count: number,
  isReady: (object: Reported) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const ready = new Set<string>()
  for await (const event of client.watch<Reported>(type, { signal })) {
    if (event.type === 'BOOKMARK') continue
    const { metadata } = event.object
    if (metadata.namespace?.startsWith(PREFIX) && isReady(event.object)) ready.add(metadata.uid ?? '')
    if (ready.size === count) return
  }
  throw new Error(`of ${count} ${type.plural} that a bare client created, ${ready.size} ran in time`)
}
