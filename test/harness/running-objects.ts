import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'

/** What an operator renders, and what others made of it. */
const TYPES: readonly ResourceType[] = [
  types.CONFIG_MAP,
  types.DATA_SOURCE,
  types.DATA_VOLUME,
  types.DEPLOYMENT,
  types.KUBEVIRT_VIRTUAL_MACHINE,
  types.NETWORK_ATTACHMENT_DEFINITION,
  types.NETWORK_POLICY,
  types.PERSISTENT_VOLUME_CLAIM,
  types.POD,
  types.SECRET,
  types.SERVICE,
  types.VIRTUAL_MACHINE_INSTANCE,
  types.VOLUME_SNAPSHOT,
]

interface Running extends KubeObject {
  readonly spec?: unknown
  readonly data?: unknown
  readonly status?: {
    readonly podIP?: string
    readonly startTime?: string
    readonly interfaces?: unknown
    readonly containerStatuses?: readonly { readonly containerID?: string; readonly restartCount: number }[]
  }
}

/** Returns what must not change of an object: its identity, what was rendered, and the addresses and starts of a pod or guest. */
function kept({ kind, metadata, spec, data, status }: Running): readonly [string, unknown] {
  const { name, namespace, uid, labels, annotations } = metadata
  const { podIP, interfaces, startTime, containerStatuses = [] } = status ?? {}
  const starts = containerStatuses.map(({ containerID, restartCount }) => [containerID, restartCount])
  const lives = [podIP, interfaces, startTime, starts]
  const lasting = Object.entries(annotations ?? {}).filter(
    ([key]) => !(kind === 'PersistentVolumeClaim' && isOfCdi(key)),
  )
  return [`${kind} ${namespace}/${name}`, { uid, labels, annotations: Object.fromEntries(lasting), spec, data, lives }]
}

/** What CDI notes on a claim, it also changes after the success. The operator writes none of it. */
const isOfCdi = (annotation: string) => annotation.startsWith('cdi.kubevirt.io/')

/** CDI deletes its own helpers when a download is over. */
const isHelper = ({ metadata: { name } }: KubeObject) => name.startsWith('prime-') || name.startsWith('importer-')

/** Returns by kind and name what an upgrade must leave as it is in these namespaces. */
export async function runningObjects(client: KubeClient, namespaces: readonly string[]) {
  const lists = await Promise.all(
    namespaces.flatMap((namespace) => TYPES.map((type) => listed(client, type, namespace))),
  )
  return Object.fromEntries(
    lists
      .flat()
      .filter((one) => !isHelper(one))
      .map(kept),
  )
}

/** Nothing of a kind that the cluster does not have. */
async function listed(client: KubeClient, type: ResourceType, namespace: string): Promise<readonly Running[]> {
  try {
    return (await client.list<Running>(type, { namespace })).items
  } catch (error) {
    if (isApiError(error, 'NotFound')) return []
    throw error
  }
}
