import type { Policy, VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import {
  type ImageClaim,
  type ReferenceSource,
  type References,
  referenceOf,
  referencesOf,
} from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { SharedReads } from '../../kube/shared-reads.ts'
import { stopAll } from '../../runtime/stops.ts'
import {
  BY_IMAGE_NAME,
  imageNamesOf,
  parsedWorkspaceSpec,
  viewReferringWorkspace,
  WORKSPACE,
  type WorkspaceCaches,
} from './caches.ts'
import { imageTemplate } from './decide/image-template.ts'
import type { WorkspaceView } from './world.ts'

interface Options {
  readonly policy: () => Policy
  /** Calls `listener` on each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/**
 * Counts workspaces as references to an image in the namespace that the policy names: each workspace with a machine of that image. Workspaces are not
 * users of an image. Their machines are, and count themselves.
 */
export class WorkspaceReferences implements ReferenceSource {
  readonly #caches: Pick<WorkspaceCaches, 'workspaces'>
  readonly #options: Options
  readonly #live: SharedReads<readonly WorkspaceView[]>

  constructor(client: KubeClient, caches: Pick<WorkspaceCaches, 'workspaces'>, options: Options) {
    this.#caches = caches
    this.#options = options
    this.#live = new SharedReads((_all, signal) =>
      listWhole(client, WORKSPACE, { signal, project: viewReferringWorkspace }),
    )
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#caches.workspaces.find(BY_IMAGE_NAME, image.name))
  }

  claims({ namespace, name }: ObjectKey): readonly ImageClaim[] {
    const policy = this.#options.policy()
    if (namespace !== policy.imageNamespace) return []
    return this.#caches.workspaces.find(BY_IMAGE_NAME, name).map((one) => {
      const parsed = parsedWorkspaceSpec(one)
      const wants = parsed.ok ? imageTemplate(parsed.spec, policy, name).spec : ({} satisfies VMDiskImageSpec)
      return { by: referenceOf(one), wants }
    })
  }

  /** Uses a live list that begins after this call. Concurrent callers share it. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take('', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    const { workspaces } = this.#caches
    let { imageNamespace } = this.#options.policy()
    const notify = (namespace: string, names: Iterable<string>) => {
      for (const name of names) listener(keyOf({ namespace, name }))
    }
    return stopAll([
      workspaces.onChange(({ before, after }) => {
        const were = before === undefined ? [] : imageNamesOf(before)
        const are = after === undefined ? [] : imageNamesOf(after)
        if (!isSame(were, are)) notify(imageNamespace, new Set([...were, ...are]))
      }),
      this.#options.onPolicyChange(() => {
        const next = this.#options.policy().imageNamespace
        if (next === imageNamespace) return
        const names = new Set([...workspaces.values()].flatMap(imageNamesOf))
        for (const namespace of [imageNamespace, next]) notify(namespace, names)
        imageNamespace = next
      }),
    ])
  }

  #count({ namespace, name }: ObjectKey, among: readonly WorkspaceView[]): References {
    if (namespace !== this.#options.policy().imageNamespace) return referencesOf([], [])
    return referencesOf(among.filter((one) => imageNamesOf(one).includes(name)).map(referenceOf), [])
  }
}
