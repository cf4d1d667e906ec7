import { LABELS } from '@open-terrain/constructs'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  STORAGE_CLASS,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { type Contents, contentsOf } from '../../operator/runtime/contents.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'

/** Everything that the operator keeps a copy of. */
const CACHED: readonly (readonly [ResourceType, Selection])[] = [
  [IMAGE, {}],
  [MACHINE, {}],
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
  [STORAGE_CLASS, {}],
  [VOLUME_SNAPSHOT_CLASS, { metadataOnly: true }],
  [CUSTOM_RESOURCE_DEFINITION, { metadataOnly: true }],
]

/** Where the operators' caches hold other objects, or other versions of them, than lists that are made now: empty when all agree. */
export async function cacheDifferences(client: KubeClient, operators: readonly BundledOperator[]): Promise<string[]> {
  const lists = await Promise.all(
    CACHED.map(async ([type, selection]) => {
      const { items } = await client.list(type, selection)
      return [`${apiVersionOf(type)}/${type.plural}`, contentsOf(items)] as const
    }),
  )
  const caches = await Promise.all(operators.map((operator) => operator.caches()))
  return caches.flatMap((cached, at) =>
    differences(cached, new Map(lists)).map((one) => `${operators[at]?.name} ${one}`),
  )
}

function differences(cached: Readonly<Record<string, Contents>>, lists: ReadonlyMap<string, Contents>): string[] {
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
