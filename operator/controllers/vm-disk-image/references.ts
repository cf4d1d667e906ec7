import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient, ListOptions, RequestOptions } from '../../kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { type DataVolumeView, sourceOfClaim, viewDataVolume } from './views.ts'
import type { References } from './world.ts'

/** A kind of object that names images. Each such kind counts itself; an image's references are the sum. */
export interface ReferenceSource {
  /** From caches: for what people read. */
  cached(image: ObjectKey): References
  /** From a live list: for decisions that cannot be undone. */
  live(image: ObjectKey, options: RequestOptions): Promise<References>
  /** Calls back with the `<namespace>/<name>` of an image whose references may have changed; returns how to stop that. */
  onChange(listener: (imageKey: string) => void): () => void
}

const NAMES_SHOWN = 10

export function sumReferences(parts: readonly References[]): References {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    names: parts.flatMap(({ names }) => names).slice(0, NAMES_SHOWN),
    users: parts.flatMap(({ users }) => users),
  }
}

/** The label of CDI's helper claims, which have no owner while they carry a clone across namespaces. */
const CLONE_HELPER = 'cdi.kubevirt.io/OwnedByUID'

/** Key of what a clone reads from. A DataVolume is read by way of its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Key of what a DataVolume reads from, as long as it does: a clone that is finished needs its source no more. */
export function unfinishedCloneOf({ phase, cloneOf }: DataVolumeView): readonly string[] {
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}

/**
 * Whether a clone that is not finished reads from this object; by live lists, at the moment of the decision.
 * @param child a VolumeSnapshot or DataVolume of ours
 * @param sources keys of what a clone that reads from it may name
 */
export async function isBeingCloned(
  client: KubeClient,
  child: ObjectKey,
  sources: ReadonlySet<string>,
  options: RequestOptions,
): Promise<boolean> {
  const dataVolumes = await listAll(client, DATA_VOLUME, options)
  const isRead = dataVolumes.flatMap((one) => unfinishedCloneOf(viewDataVolume(one))).some((key) => sources.has(key))
  if (isRead) return true
  const { namespace = '' } = child
  const helpers = await listAll(client, PERSISTENT_VOLUME_CLAIM, { ...options, namespace, labelSelector: CLONE_HELPER })
  return helpers.some((helper) => sourceOfClaim(helper) === child.name)
}

async function listAll(client: KubeClient, type: ResourceType, selection: ListOptions): Promise<KubeObject[]> {
  const found: KubeObject[] = []
  let continueToken: string | undefined
  do {
    try {
      const page = await client.list(type, {
        ...selection,
        limit: 500,
        ...(continueToken !== undefined && { continueToken }),
      })
      found.push(...page.items)
      continueToken = page.continueToken
    } catch (error) {
      if (isApiError(error, 'NotFound')) return found
      throw error
    }
  } while (continueToken !== undefined)
  return found
}
