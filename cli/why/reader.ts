import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ResourceType,
} from '../../operator/kube/kube-object.ts'
import { listWhole } from '../../operator/kube/list-all.ts'

/** Why something cannot be seen, as a sentence without its end. */
export interface Unseen {
  readonly unseen: string
}

/** Reads with the rights of the caller, each thing once. What the caller may not read is an answer, and no error. */
export class Reader {
  readonly #client: KubeClient
  readonly #known = new Map<string, Promise<unknown>>()

  constructor(client: KubeClient) {
    this.#client = client
  }

  /** Returns an object; undefined if it does not exist, or nothing serves its kind. Throws ApiError unless it is a refusal. */
  async get<T extends KubeObject>(type: ResourceType, key: ObjectKey): Promise<T | Unseen | undefined> {
    return await this.#once(`get ${apiVersionOf(type)} ${type.plural} ${keyOf(key)}`, () =>
      orUnseen('get', type, key.namespace, () => find<T>(this.#client, type, key)),
    )
  }

  /** Returns all objects of a selection, none if nothing serves their kind. Throws ApiError unless it is a refusal. */
  async list<T extends KubeObject>(type: ResourceType, selection: Selection): Promise<readonly T[] | Unseen> {
    return await this.#once(`list ${apiVersionOf(type)} ${type.plural} ${JSON.stringify(selection)}`, () =>
      orUnseen('list', type, selection.namespace, () =>
        listWhole(this.#client, type, { ...selection, project: (object) => object as T }),
      ),
    )
  }

  /** As {@link get}, without the content: that of a Secret is nothing that a command has to have. */
  async getMetadata(type: ResourceType, { namespace = '', name }: ObjectKey): Promise<KubeObject | Unseen | undefined> {
    const found = await this.list(type, { namespace, fieldSelector: `metadata.name=${name}`, metadataOnly: true })
    return isUnseen(found) ? found : found[0]
  }

  #once<T>(id: string, read: () => Promise<T>): Promise<T> {
    const known = this.#known.get(id) ?? read()
    this.#known.set(id, known)
    return known as Promise<T>
  }
}

export function isUnseen(found: unknown): found is Unseen {
  return typeof found === 'object' && found !== null && 'unseen' in found
}

async function orUnseen<T>(
  verb: string,
  { plural, group }: ResourceType,
  namespace: string | undefined,
  read: () => Promise<T>,
): Promise<T | Unseen> {
  try {
    return await read()
  } catch (error) {
    if (!isApiError(error, 'Rejected') || (error.status !== 403 && error.status !== 401)) throw error
    const where = namespace === undefined ? '' : ` in ${namespace}`
    return { unseen: `not visible to you: needs ${verb} of ${plural}${group === '' ? '' : `.${group}`}${where}` }
  }
}
