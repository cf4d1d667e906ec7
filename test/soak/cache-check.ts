import { LABELS } from '@open-terrain/constructs'
import { DATA_SYNC } from '../../operator/controllers/data-sync/caches.ts'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DATA_SOURCE,
  DATA_VOLUME,
  DEPLOYMENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  RESOURCE_QUOTA,
  SECRET,
  STORAGE_CLASS,
  STORAGE_PROFILE,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { type CacheDigest, digestOf, selectedKind } from '../../operator/runtime/cache-digest.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'

const OF_WORKSPACES = { labelSelector: LABELS.workspaceUid }

/** Everything that the operator keeps a copy of. */
const CACHED: readonly (readonly [ResourceType, Selection])[] = [
  [IMAGE, {}],
  [MACHINE, {}],
  [DATA_SYNC, {}],
  [WORKSPACE, {}],
  [DATA_VOLUME, {}],
  [PERSISTENT_VOLUME_CLAIM, {}],
  [POD, { labelSelector: LABELS.imageUid }],
  [VOLUME_SNAPSHOT, {}],
  [DATA_SOURCE, {}],
  [KUBEVIRT_VIRTUAL_MACHINE, {}],
  [VIRTUAL_MACHINE_INSTANCE, {}],
  [SECRET, { metadataOnly: true }],
  [CONFIG_MAP, { metadataOnly: true }],
  [NAMESPACE, { metadataOnly: true }],
  [DEPLOYMENT, OF_WORKSPACES],
  [POD, OF_WORKSPACES],
  [NETWORK_ATTACHMENT_DEFINITION, OF_WORKSPACES],
  [NETWORK_POLICY, OF_WORKSPACES],
  [PERSISTENT_VOLUME, OF_WORKSPACES],
  [CONFIG_MAP, OF_WORKSPACES],
  [RESOURCE_QUOTA, {}],
  [STORAGE_CLASS, {}],
  [STORAGE_PROFILE, {}],
  [VOLUME_SNAPSHOT_CLASS, { metadataOnly: true }],
  [CUSTOM_RESOURCE_DEFINITION, { metadataOnly: true }],
]

/** Where the operators' caches hold other objects, or other versions of them, than lists that are made now: empty when all agree. */
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
