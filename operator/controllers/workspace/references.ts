import type { Policy } from '@open-terrain/constructs'
import { type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { SharedLooks } from '../../kube/shared-looks.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { stopAll } from '../../runtime/stops.ts'
import { BY_IMAGE_NAME, imageNamesOf, WORKSPACE, type WorkspaceCaches } from './caches.ts'
import { viewWorkspace, type WorkspaceView } from './views.ts'

interface Options {
  readonly policy: () => Pick<Policy, 'imageNamespace'>
  /** Calls back at each change of the policy; returns how to stop that. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/**
 * How workspaces count as references to an image of the namespace that the policy names: each one that has a machine of it. As users only their machines
 * count, which do so by themselves.
 */
export class WorkspaceReferences implements ReferenceSource {
  readonly #caches: Pick<WorkspaceCaches, 'workspaces'>
  readonly #options: Options
  readonly #live: SharedLooks<readonly WorkspaceView[]>

  constructor(client: KubeClient, caches: Pick<WorkspaceCaches, 'workspaces'>, options: Options) {
    this.#caches = caches
    this.#options = options
    this.#live = new SharedLooks((_all, signal) => listWhole(client, WORKSPACE, { signal, project: viewWorkspace }))
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#caches.workspaces.find(BY_IMAGE_NAME, image.name))
  }

  /** By a list that begins after this call; those who ask meanwhile share it. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take('', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    const { workspaces } = this.#caches
    let { imageNamespace } = this.#options.policy()
    const tell = (namespace: string, names: Iterable<string>) => {
      for (const name of names) listener(keyOf({ namespace, name }))
    }
    return stopAll([
      workspaces.onChange(({ before, after }) => {
        const were = before === undefined ? [] : imageNamesOf(before)
        const are = after === undefined ? [] : imageNamesOf(after)
        if (!isSame(were, are)) tell(imageNamespace, new Set([...were, ...are]))
      }),
      this.#options.onPolicyChange(() => {
        const next = this.#options.policy().imageNamespace
        if (next === imageNamespace) return
        const names = new Set([...workspaces.values()].flatMap(imageNamesOf))
        for (const namespace of [imageNamespace, next]) tell(namespace, names)
        imageNamespace = next
      }),
    ])
  }

  #count({ namespace, name }: ObjectKey, among: readonly WorkspaceView[]): References {
    if (namespace !== this.#options.policy().imageNamespace) return referencesOf([], [])
    return referencesOf(among.filter((one) => imageNamesOf(one).includes(name)).map(referenceOf), [])
  }
}
