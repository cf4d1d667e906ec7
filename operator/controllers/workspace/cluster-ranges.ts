import { isSame } from '../../base/equality.ts'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeObject, Raw, ResourceType } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { NODE, SERVICE_CIDR } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'

/** A range of addresses that the cluster uses, with words for people that say for what. */
export interface ClusterRange {
  readonly cidr: string
  readonly what: string
}

/** Ranges rarely change. A watch of all nodes would bring every heartbeat. */
const EVERY_MS = 10 * 60_000
const KEY = 'ranges'
const TEXT_MAX = 64

interface Options extends LiveReadServices {
  /** Called when the ranges are first known, and when they change. */
  readonly onChange: () => void
}

/**
 * Reads the ranges of Services and pods, as far as the API server lets it. What cannot be read is unknown: there is no range then, as on a cluster
 * whose network plug-in manages the addresses of pods by itself. Reads nothing until {@link look} is first called.
 */
export class ClusterRanges extends LiveReadLoop {
  readonly #onChange: () => void
  readonly #known = new Map<ResourceType, readonly ClusterRange[]>()
  #state: 'unneeded' | 'asked' | 'answered' = 'unneeded'

  constructor(options: Options) {
    super(options, 'cluster-ranges', async (_key, signal) => {
      await this.#read(options, signal)
      return undefined
    })
    this.#onChange = options.onChange
  }

  /** Returns the ranges, or undefined until they were read once. */
  look(): readonly ClusterRange[] | undefined {
    if (this.#state === 'unneeded') {
      this.#state = 'asked'
      this.readAfter(KEY, 0)
    }
    return this.#state === 'answered' ? [...this.#known.values()].flat() : undefined
  }

  async #read({ client, log }: Options, signal: AbortSignal): Promise<void> {
    const before = [...this.#known.values()].flat()
    for (const [type, project] of READS) {
      try {
        this.#known.set(type, (await listWhole(client, type, { signal, project })).flat())
      } catch (error) {
        if (!isApiError(error)) throw error
        log.debug({ kind: type.kind, error: String(error) }, 'the ranges of the cluster cannot be read')
      }
    }
    const isFirst = this.#state !== 'answered'
    this.#state = 'answered'
    this.readAfter(KEY, EVERY_MS)
    if (isFirst || !isSame(before, [...this.#known.values()].flat())) this.#onChange()
  }
}

const READS = [
  [SERVICE_CIDR, ({ spec, metadata }: Raw) => rangesOf(spec?.cidrs, `the range of Services ${metadata.name}`)],
  [NODE, ({ spec, metadata }: Raw) => rangesOf(spec?.podCIDRs, `the range of pods on node ${metadata.name}`)],
] as const satisfies readonly (readonly [ResourceType, (object: KubeObject) => readonly ClusterRange[]])[]

function rangesOf(cidrs: unknown, what: string): readonly ClusterRange[] {
  const texts = Array.isArray(cidrs) ? cidrs.filter((one) => typeof one === 'string' && one.length <= TEXT_MAX) : []
  return texts.map((cidr: string) => ({ cidr, what }))
}
