import { virtualMachine } from '@open-terrain/constructs'
import { unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { sourceOfClaim, viewDataVolume } from '../../cluster/views.ts'
import { referenceOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject, ObjectKey } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { SharedLooks } from '../../kube/shared-looks.ts'

/** The label of CDI's helper claims, which have no owner while they move a clone across namespaces. */
const CLONE_HELPER = 'cdi.kubevirt.io/OwnedByUID'
/** Characters; more than a kind, a namespace and a name can have. A longer key names nothing that exists. */
const SOURCE_MAX = 400

/** A DataVolume of anybody that is still being cloned from something else. */
export interface LiveClone {
  /** `DataVolume/<namespace>/<name>` */
  readonly title: string
  /** Key of what it reads from. */
  readonly source: string
  readonly isOfMachine: boolean
}

/**
 * Finds what reads from what, by live lists, right before a decision that cannot be undone. The list of clones covers the whole cluster,
 * and many images may be deleted at once: they share the lists.
 */
export class LiveClones {
  readonly #clones: SharedLooks<readonly LiveClone[]>
  /** Names that helper claims of a namespace read from. */
  readonly #helpers: SharedLooks<ReadonlySet<string>>

  constructor(client: KubeClient) {
    this.#clones = new SharedLooks((_all, signal) => listClones(client, signal))
    this.#helpers = new SharedLooks((namespace, signal) => listHelpers(client, namespace, signal))
  }

  /** Returns the clones that read from one of these sources. Throws ApiError. */
  async of(sources: ReadonlySet<string>, signal: AbortSignal): Promise<readonly LiveClone[]> {
    return (await this.#clones.take('', signal)).filter(({ source }) => sources.has(source))
  }

  /**
   * Whether anything reads from this object. Throws ApiError.
   * @param child a VolumeSnapshot or DataVolume of an image
   * @param sources keys of what a clone that reads from it may name
   */
  async readFrom(child: ObjectKey, sources: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
    if ((await this.of(sources, signal)).length > 0) return true
    return (await this.#helpers.take(child.namespace ?? '', signal)).has(child.name)
  }
}

async function listClones(client: KubeClient, signal: AbortSignal): Promise<LiveClone[]> {
  return (await listWhole(client, DATA_VOLUME, { signal, project: viewClone })).flat()
}

function viewClone(object: KubeObject): readonly LiveClone[] {
  const sources = unfinishedCloneOf(viewDataVolume(object)).filter(({ length }) => length <= SOURCE_MAX)
  return sources.map((source) => ({ title: referenceOf(object), source, isOfMachine: isOfMachine(object) }))
}

/** Whether the clone is a disk of a machine of ours. */
export function isOfMachine(clone: KubeObject): boolean {
  return controllerOfKind(clone, virtualMachine) !== undefined
}

async function listHelpers(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Set<string>> {
  const helpers = { signal, namespace, labelSelector: CLONE_HELPER, project: sourceOfClaim }
  const names = await listWhole(client, PERSISTENT_VOLUME_CLAIM, helpers)
  return new Set(names.filter((name) => name !== undefined))
}
