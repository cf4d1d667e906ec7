import { vmChildNames } from '@open-terrain/constructs'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { ObjectKey, ResourceType } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import type { PlanCaches } from '../../runtime/plan-writer.ts'
import type { Wake } from '../../runtime/wake.ts'
import { hasDisk, type MachinePlan, type MachineRemoval } from './machine-plan.ts'
import { diskOf } from './observe.ts'
import { referenceOf } from './references.ts'
import type { MachineView } from './views.ts'

/** Watches bring it soon. */
const NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should have by then what a live look has found' }
/** Its status tells what refers to an image, a while after that came. */
const NOT_COUNTED: Wake = { afterMs: 10_000, because: 'the image should tell by then what else refers to it' }

const SOURCES = {
  VolumeSnapshot: VOLUME_SNAPSHOT,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  DataSource: DATA_SOURCE,
} as const

export interface LiveLooksOptions {
  readonly client: KubeClient
  readonly caches: PlanCaches
  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences: (image: ObjectKey, signal: AbortSignal) => Promise<{ readonly names: readonly string[] }>
}

/** Live looks at what a plan for a machine must not rest on a cache for. */
export class LiveLooks {
  readonly #options: LiveLooksOptions

  constructor(options: LiveLooksOptions) {
    this.#options = options
  }

  /** When to look again, if the caches were behind. Throws ApiError. */
  async confirm(vm: MachineView, plan: MachinePlan, signal: AbortSignal): Promise<Wake | undefined> {
    if (await this.#overlooksDisk(vm, plan, signal)) return NOT_SEEN
    if (await this.#overlooksReference(vm, plan, signal)) return NOT_COUNTED
    return undefined
  }

  /** Whether what a clone reads from is there after all. Throws ApiError. */
  async isHeldBack({ unlessThere }: MachineRemoval, signal: AbortSignal): Promise<boolean> {
    if (unlessThere === undefined) return false
    const { kind, namespace, name } = unlessThere
    return (await find(this.#options.client, SOURCES[kind], { namespace, name }, { signal })) !== undefined
  }

  /** Whether the plan takes a disk to be missing that is there. The caches know it from then on. */
  async #overlooksDisk(vm: MachineView, { remove }: MachinePlan, signal: AbortSignal): Promise<boolean> {
    if (!remove.some(({ unlessDisk }) => unlessDisk)) return false
    const { client, caches } = this.#options
    const { namespace = '', name } = vm.metadata
    const look = async (type: ResourceType) => {
      const found = await find(client, type, { namespace, name: vmChildNames(name).clone }, { signal })
      if (found !== undefined) caches.observeWrite(type, found)
      return found
    }
    const [clone, claim] = await Promise.all([look(DATA_VOLUME), look(PERSISTENT_VOLUME_CLAIM)])
    return hasDisk(diskOf(vm, clone, claim))
  }

  /** Whether the plan changes an image that is taken for its own, and something else refers to. */
  async #overlooksReference(vm: MachineView, { unlessShared }: MachinePlan, signal: AbortSignal): Promise<boolean> {
    if (unlessShared === undefined) return false
    const { names } = await this.#options.countReferences(unlessShared, signal)
    return names.some((name) => name !== referenceOf(vm))
  }
}
