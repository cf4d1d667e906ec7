import { LABELS } from '@open-terrain/constructs'
import { RESOURCES, type VirtualMachineStatus, virtualMachine, workspace } from '@open-terrain/constructs/operator'
import { MACHINE_CHILDREN } from '../../operator/controllers/virtual-machine/decide/machine-plan.ts'
import { IMAGE_CHILDREN } from '../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { OWNED_TYPES } from '../../operator/controllers/workspace/decide/kinds.ts'
import { type ApiError, isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { listWhole } from '../../operator/kube/list-all.ts'
import { DATA_VOLUME, SECRET } from '../../operator/kube/resource-types.ts'
import { changeTo } from '../../operator/runtime/owned-fields.ts'
import { eachOf } from '../outcomes.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { ManifestProblem, Written } from './manifest.ts'
import { idOfPlanned, type Planned, type PresentCluster } from './planned.ts'

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

/**
 * Compares each object of a plan with what the cluster has. Content of Secrets is not read. What may not be read is unknown. Throws an ApiError if there is no
 * answer.
 * @param cluster what the plan was made with
 * @param answers what the API server says to the objects of the file, by {@link idOfPlanned}
 */
export async function comparePlan(
  client: KubeClient,
  planned: Planned,
  cluster: LiveCluster,
  answers: ReadonlyMap<string, DryRunAnswer>,
): Promise<readonly Compared[]> {
  const compared = await eachOf(planned.objects, async (object): Promise<Compared> => {
    const answer = answers.get(idOfPlanned(object))
    if (answer !== undefined) return { object, ...differenceOfWritten(object, answer) }
    try {
      return { object, ...differenceOf(object, await liveOf(client, object)) }
    } catch (error) {
      return unknownOf(object, error)
    }
  })
  return [...compared, ...leftOver(cluster, planned)]
}

/** Throws an error that is no refusal: then nothing is known of others either. */
function unknownOf(object: KubeObject, error: unknown): Compared {
  if (!isRefusal(error)) throw error
  return { object, effect: 'none', fields: [], unknown: error.message }
}

/** Reports whether the API server has answered, and has refused this request. */
function isRefusal(error: unknown): error is ApiError {
  return isApiError(error) && error.reason !== 'NoAnswer' && error.reason !== 'Unavailable'
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

/** What a cluster has of what is planned, each read once. */
export class LiveCluster implements PresentCluster {
  /** Stand for lists that are refused: whether anything of them is deleted is unknown. */
  readonly refused: Compared[] = []
  /** Children of all labs that were asked for. */
  readonly children: KubeObject[] = []
  readonly #client: KubeClient

  constructor(client: KubeClient) {
    this.#client = client
  }

  async liveOf(object: KubeObject): Promise<KubeObject | undefined> {
    try {
      return await find(this.#client, typeOf(object), object.metadata)
    } catch (error) {
      // The comparison says so.
      unknownOf(object, error)
      return undefined
    }
  }

  async childrenOf(live: KubeObject): Promise<readonly KubeObject[]> {
    if (live.kind === workspace.kind) return await this.#childrenOfLab(live)
    if (live.kind !== virtualMachine.kind) return []
    const { clone } = (live as KubeObject & { readonly status?: VirtualMachineStatus }).status ?? {}
    const { namespace = '' } = live.metadata
    if (clone === undefined) return []
    const root = {
      apiVersion: apiVersionOf(DATA_VOLUME),
      kind: DATA_VOLUME.kind,
      metadata: { namespace, name: clone.name },
    }
    const found = await this.liveOf(root)
    return found === undefined ? [] : [found]
  }

  async #childrenOfLab({ metadata: { name, uid } }: KubeObject): Promise<readonly KubeObject[]> {
    const lists = await eachOf(LAB_TYPES, async (type) => {
      const where = type.namespaced ? { namespace: name } : {}
      const own = { labelSelector: `${LABELS.workspaceUid}=${uid}`, metadataOnly: type.kind === SECRET.kind }
      try {
        return await listWhole(this.#client, type, { ...own, ...where, project: (one) => one })
      } catch (error) {
        this.refused.push(unknownOf(anyOf(type, where), error))
        return []
      }
    })
    this.children.push(...lists.flat())
    return lists.flat()
  }
}

/** Returns the children of labs that are in no plan any more: the operator deletes those that need not stay. */
function leftOver({ children, refused }: LiveCluster, { objects, staying = [] }: Planned): Compared[] {
  const planned = new Set(objects.map(idOfPlanned))
  const kept = new Set(staying)
  const strays = children.filter((one) => !planned.has(idOfPlanned(one)))
  const compared = strays.map((object): Compared => {
    return { object, effect: kept.has(idOfPlanned(object)) ? 'keep' : 'delete', fields: [] }
  })
  return [...compared, ...refused]
}

const LAB_TYPES: readonly ResourceType[] = [...new Set(OWNED_TYPES.map(({ type }) => type))]

/** Stands for all objects of a kind. */
function anyOf(type: ResourceType, where: { readonly namespace?: string }): KubeObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { ...where, name: '*' } }
}

/** What the API server says to an object of a file. */
export interface DryRunAnswer {
  /** The object as it would be stored. */
  readonly stored: KubeObject
  /** As it is stored now. Undefined: it is not there. */
  readonly live: KubeObject | undefined
}

/** Asks the API server what it says to each written object, without storing any. Returns all that it refuses. Throws an ApiError if there is no answer. */
export async function dryRun(
  client: KubeClient,
  written: readonly Written[],
): Promise<{ readonly answers: ReadonlyMap<string, DryRunAnswer>; readonly problems: readonly ManifestProblem[] }> {
  const answers = new Map<string, DryRunAnswer>()
  const problems = await eachOf(written, async (object): Promise<ManifestProblem[]> => {
    const type = typeOf(object)
    const { uid: _uid, ...metadata } = object.metadata
    try {
      const live = await find(client, type, metadata)
      const options = { isStrict: true, isDryRun: true }
      const stored =
        live === undefined
          ? await client.create<KubeObject>(type, { ...object, metadata }, options)
          : await client.mergePatch<KubeObject>(type, metadata, patchTo(object, live), options)
      answers.set(idOfPlanned(object), { stored, live })
      return []
    } catch (error) {
      if (!isRefusal(error)) throw error
      return [{ object: `${object.kind}/${metadata.name}`, field: 'the API server', message: error.message }]
    }
  })
  return { answers, problems: problems.flat() }
}

/** Returns a patch that has the spec of the file, and nothing else, in the place of that which is there. */
function patchTo(object: Written, live: KubeObject): object {
  const { labels, annotations } = object.metadata
  return { ...changeTo(object, live), metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } }
}

/** Compares an object of a file with what is stored: what the file leaves out goes as well. */
function differenceOfWritten({ metadata }: KubeObject, { stored, live }: DryRunAnswer): Difference {
  const { labels, annotations } = metadata
  const wanted = {
    ...stored,
    metadata: { name: metadata.name, ...(labels && { labels }), ...(annotations && { annotations }) },
  }
  const { status: _status, ...content } = wanted as KubeObject & { readonly status?: unknown }
  return differenceOf(content, live, 'whole')
}
