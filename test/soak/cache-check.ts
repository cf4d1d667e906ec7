import { LABELS } from '@open-terrain/constructs'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'
import { sumOf } from '../bench/exposition.ts'

const CACHED: readonly (readonly [ResourceType, Selection])[] = [
  [IMAGE, {}],
  [DATA_VOLUME, {}],
  [PERSISTENT_VOLUME_CLAIM, {}],
  [POD, { labelSelector: LABELS.imageUid }],
  [VOLUME_SNAPSHOT, {}],
  [DATA_SOURCE, {}],
  [SECRET, { metadataOnly: true }],
  [CONFIG_MAP, { metadataOnly: true }],
  [NAMESPACE, { metadataOnly: true }],
  [STORAGE_CLASS, { metadataOnly: true }],
  [VOLUME_SNAPSHOT_CLASS, { metadataOnly: true }],
]

/** How many objects of each kind the operator's caches hold otherwise than a list that is made now: empty when all agree. */
export async function cacheDifferences(client: KubeClient, operators: readonly BundledOperator[]): Promise<string[]> {
  const lists = await Promise.all(
    CACHED.map(async ([type, selection]) => [type.kind, (await client.list(type, selection)).items.length] as const),
  )
  const differences: string[] = []
  for (const operator of operators) {
    const metrics = await operator.metrics()
    for (const [kind, listed] of lists) {
      const cached = sumOf(metrics, 'ot_informer_objects', { kind })
      if (cached !== listed) differences.push(`${operator.name} holds ${cached} ${kind}, there are ${listed}`)
    }
  }
  return differences
}
