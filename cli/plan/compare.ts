import { LABELS } from '@open-terrain/constructs'
import { RESOURCES, workspace } from '@open-terrain/constructs/operator'
import { MACHINE_CHILDREN } from '../../operator/controllers/virtual-machine/decide/machine-plan.ts'
import { IMAGE_CHILDREN } from '../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { OWNED_TYPES } from '../../operator/controllers/workspace/decide/kinds.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { listWhole } from '../../operator/kube/list-all.ts'
import { SECRET } from '../../operator/kube/resource-types.ts'
import { changeTo } from '../../operator/runtime/owned-fields.ts'
import { eachOf } from '../outcomes.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { ManifestProblem, Written } from './manifest.ts'
import { idOfPlanned } from './planned.ts'

/** An object of a plan, or one that a plan has no more, and what would happen to it. */
export interface Compared extends Difference {
  readonly object: KubeObject
  /** Why it could not be compared. */
  readonly unknown?: string
}

const TYPES: readonly ResourceType[] = [
  ...RESOURCES,
  ...[...OWNED_TYPES, ...MACHINE_CHILDREN, ...IMAGE_CHILDREN].map(({ type }) => type),
]

/** Returns each of these objects as the cluster has it. Content of Secrets is not read. What may not be read is unknown. */
export async function comparePlan(client: KubeClient, objects: readonly KubeObject[]): Promise<readonly Compared[]> {
  const compared = await eachOf(objects, async (object): Promise<Compared> => {
    try {
      return { object, ...differenceOf(object, await liveOf(client, object)) }
    } catch (error) {
      if (!isApiError(error)) throw error
      return { object, effect: 'none', fields: [], unknown: error.message }
    }
  })
  return [...compared, ...(await leftOver(client, objects))]
}

function typeOf({ apiVersion, kind }: KubeObject): ResourceType {
  const found = TYPES.find((type) => type.kind === kind && apiVersionOf(type) === apiVersion)
  if (found === undefined) throw new TypeError(`no plan has a ${kind} of ${apiVersion}`)
  return found
}

async function liveOf(client: KubeClient, object: KubeObject): Promise<KubeObject | undefined> {
  const type = typeOf(object)
  if (type.kind !== SECRET.kind) return await find(client, type, object.metadata)
  const { namespace, name } = object.metadata
  const only = { namespace: namespace ?? '', fieldSelector: `metadata.name=${name}`, metadataOnly: true }
  const [secret] = await listWhole(client, type, { ...only, project: (one) => one })
  return secret
}

/** Returns the objects of the planned labs that are in no plan any more: the operator deletes them. */
async function leftOver(client: KubeClient, objects: readonly KubeObject[]): Promise<Compared[]> {
  const planned = new Set(objects.map(idOfPlanned))
  const labs = objects.filter(({ kind, metadata }) => kind === workspace.kind && metadata.uid !== undefined)
  const lists = labs.flatMap((lab) => OWNED_TYPES.map(({ type }) => ({ lab, type })))
  const found = await eachOf(lists, async ({ lab: { metadata }, type }) => {
    try {
      const own = { labelSelector: `${LABELS.workspaceUid}=${metadata.uid}`, metadataOnly: true }
      const where = type.namespaced ? { namespace: metadata.name } : {}
      return await listWhole(client, type, { ...own, ...where, project: (one) => one })
    } catch (error) {
      if (!isApiError(error)) throw error
      return []
    }
  })
  const strays = found.flat().filter((one) => !planned.has(idOfPlanned(one)))
  return strays.map((object) => ({ object, effect: 'delete', fields: [] }))
}

/** Asks the API server what it says to each written object, without storing any. Returns all that it refuses. */
export async function dryRunProblems(client: KubeClient, written: readonly Written[]): Promise<ManifestProblem[]> {
  const answers = await eachOf(written, async (object) => {
    const type = typeOf(object)
    const { uid: _uid, ...metadata } = object.metadata
    try {
      const live = await find(client, type, metadata)
      const options = { isStrict: true, isDryRun: true }
      if (live === undefined) await client.create<KubeObject>(type, { ...object, metadata }, options)
      else {
        const { labels, annotations } = metadata
        const patch = {
          ...changeTo(object, live),
          metadata: { ...(labels && { labels }), ...(annotations && { annotations }) },
        }
        await client.mergePatch(type, metadata, patch, options)
      }
      return []
    } catch (error) {
      if (!isApiError(error)) throw error
      return [{ object: `${object.kind}/${metadata.name}`, field: 'the API server', message: error.message }]
    }
  })
  return answers.flat()
}

/** Returns the uid that an object of ours has in the cluster; undefined if it is not there. Throws ApiError. */
export async function liveUid(client: KubeClient, object: KubeObject): Promise<string | undefined> {
  return (await find(client, typeOf(object), object.metadata))?.metadata.uid
}
