import { LABELS } from '@open-terrain/constructs'
import { LAB_ISOLATION } from '@open-terrain/constructs/operator'
import { DATA_SYNC } from '../../operator/controllers/data-sync/caches.ts'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import { WORKSPACE_SNAPSHOT } from '../../operator/controllers/workspace-snapshot/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import { type CacheDigest, digestOf, selectedKind } from '../../operator/runtime/cache-digest.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'

const OF_WORKSPACES = { labelSelector: LABELS.workspaceUid }

/** Everything that the operator caches. */
const CACHED: readonly (readonly [ResourceType, Selection])[] = [
  [IMAGE, {}],
  [MACHINE, {}],
  [DATA_SYNC, {}],
  [WORKSPACE, {}],
  [WORKSPACE_SNAPSHOT, {}],
  [types.DATA_VOLUME, {}],
  [types.PERSISTENT_VOLUME_CLAIM, {}],
  [types.POD, { labelSelector: LABELS.imageUid }],
  [types.VOLUME_SNAPSHOT, {}],
  [types.VIRTUAL_MACHINE_SNAPSHOT, {}],
  [types.VIRTUAL_MACHINE_RESTORE, {}],
  [types.DATA_SOURCE, {}],
  [types.KUBEVIRT_VIRTUAL_MACHINE, {}],
  [types.VIRTUAL_MACHINE_INSTANCE, {}],
  [types.SECRET, { metadataOnly: true }],
  [types.CONFIG_MAP, { metadataOnly: true }],
  [types.NAMESPACE, { metadataOnly: true }],
  [types.DEPLOYMENT, OF_WORKSPACES],
  [types.JOB, OF_WORKSPACES],
  [types.POD, OF_WORKSPACES],
  [types.POD, { namespace: LAB_ISOLATION.namespace, labelSelector: LAB_ISOLATION.label }],
  [types.NETWORK_ATTACHMENT_DEFINITION, OF_WORKSPACES],
  [types.NETWORK_ATTACHMENT_DEFINITION, { labelSelector: `!${LABELS.workspaceUid}` }],
  [types.NETWORK_POLICY, OF_WORKSPACES],
  [types.ROLE_BINDING, OF_WORKSPACES],
  [types.SERVICE, OF_WORKSPACES],
  [types.PERSISTENT_VOLUME, OF_WORKSPACES],
  [types.CONFIG_MAP, OF_WORKSPACES],
  [types.RESOURCE_QUOTA, {}],
  [types.STORAGE_CLASS, {}],
  [types.STORAGE_PROFILE, {}],
  [types.VOLUME_SNAPSHOT_CLASS, {}],
  [types.CUSTOM_RESOURCE_DEFINITION, { metadataOnly: true }],
]

/** Where the operators' caches have other objects, or other versions of them, than fresh lists. Empty if all agree. */
export async function cacheDifferences(client: KubeClient, operators: readonly BundledOperator[]): Promise<string[]> {
  const lists = await Promise.all(
    CACHED.map(async ([type, selection]) => {
      const { items } = await client.list(type, selection)
      return [selectedKind({ type, selection }), digestOf(items)] as const
    }),
  )
  const caches = await Promise.all(operators.map((operator) => operator.caches()))
  return caches.flatMap((cached, at) =>
    differences(cached, new Map(lists)).map((one) => `${operators[at]?.name} ${one}`),
  )
}

function differences(cached: Readonly<Record<string, CacheDigest>>, lists: ReadonlyMap<string, CacheDigest>): string[] {
  const kinds = new Set([...Object.keys(cached), ...lists.keys()])
  return [...kinds].flatMap((kind) => {
    const [held, listed] = [cached[kind], lists.get(kind)]
    if (listed === undefined) return [`keeps ${kind}, which nobody compares`]
    if (held?.digest === listed.digest) return []
    if (held?.objects === listed.objects)
      return [`holds ${held.objects} ${kind}, but not all in the versions that there are`]
    return [`holds ${held?.objects ?? 0} ${kind}, there are ${listed.objects}`]
  })
}
