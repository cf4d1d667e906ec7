import { ipText, parseIp } from '@open-terrain/constructs/operator'
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
  /** Set if it is one address, of a node. */
  readonly isNode?: true
}

/** Ranges rarely change. A watch of all nodes would bring every heartbeat. */
const EVERY_MS = 10 * 60_000
const KEY = 'ranges'
const TEXT_MAX = 64
/** Addresses of one node that count. A node has few. */
const ADDRESSES_MAX = 64

interface Options extends LiveReadServices {
  /** Called when the ranges are first known, and when they change. */
  readonly onChange: () => void
}

/**
 * Reads the ranges of Services and pods, and the addresses of nodes, as far as the API server lets it. What may not be read, or is not served, is
 * unknown: there is no range then, as on a cluster whose network plug-in manages the addresses of pods by itself. What was read once stays known.
 * Any other error is retried. Reads nothing until {@link look} or {@link lookWhole} is first called.
 */
export class ClusterRanges extends LiveReadLoop {
  readonly #onChange: () => void
  readonly #known = new Map<ResourceType, readonly ClusterRange[]>()
  #state: 'unneeded' | 'asked' | 'tried' = 'unneeded'
  /** All that are known, and those that are of no node: each reconcile asks for them. */
  #all: readonly ClusterRange[] = []
  #shared: readonly ClusterRange[] = []

  constructor(options: Options) {
    super(options, 'cluster-ranges', async (_key, signal) => {
      await this.#read(options, signal)
      return undefined
    })
    this.#onChange = options.onChange
  }

  /** Returns the ranges of Services and pods that are known, or undefined until they were looked for once. */
  look(): readonly ClusterRange[] | undefined {
    this.#ask()
    return this.#state === 'tried' ? this.#shared : undefined
  }

  /**
   * Returns the ranges with the addresses of nodes, `unknown` while some of them can be read but could not yet be, or undefined until they were
   * looked for once.
   */
  lookWhole(): readonly ClusterRange[] | 'unknown' | undefined {
    this.#ask()
    if (this.#state !== 'tried') return undefined
    return this.#isWhole() ? this.#all : 'unknown'
  }

  #ask(): void {
    if (this.#state !== 'unneeded') return
    this.#state = 'asked'
    this.readAfter(KEY, 0)
  }

  async #read({ client, log }: Options, signal: AbortSignal): Promise<void> {
    const before = { all: this.#all, isWhole: this.#isWhole(), state: this.#state }
    const failures: unknown[] = []
    for (const [type, project] of READS) {
      try {
        this.#known.set(type, (await listWhole(client, type, { signal, project })).flat())
      } catch (error) {
        if (!isApiError(error)) throw error
        log.debug({ kind: type.kind, error: String(error) }, 'the ranges of the cluster cannot be read')
        if (!FOR_GOOD.has(error.status)) failures.push(error)
        else if (!this.#known.has(type)) this.#known.set(type, [])
      }
    }
    this.#state = 'tried'
    this.#all = [...this.#known.values()].flat()
    this.#shared = this.#all.filter(({ isNode }) => isNode === undefined)
    if (!isSame(before, { all: this.#all, isWhole: this.#isWhole(), state: this.#state })) this.#onChange()
    if (failures.length > 0) throw failures[0]
    this.readAfter(KEY, EVERY_MS)
  }

  #isWhole(): boolean {
    return READS.every(([type]) => this.#known.has(type))
  }
}

/** The operator may not read it, or the cluster has no such kind. */
const FOR_GOOD: ReadonlySet<number> = new Set([403, 404])

const READS = [
  [SERVICE_CIDR, ({ spec, metadata }: Raw) => rangesOf(spec?.cidrs, `the range of Services ${metadata.name}`)],
  [
    NODE,
    ({ spec, status, metadata }: Raw) => [
      ...rangesOf(spec?.podCIDRs, `the range of pods on node ${metadata.name}`),
      ...addressesOf(status?.addresses, `an address of node ${metadata.name}`),
    ],
  ],
] as const satisfies readonly (readonly [ResourceType, (object: KubeObject) => readonly ClusterRange[]])[]

function rangesOf(cidrs: unknown, what: string): readonly ClusterRange[] {
  const texts = Array.isArray(cidrs) ? cidrs.filter((one) => typeof one === 'string' && one.length <= TEXT_MAX) : []
  return texts.map((cidr: string) => ({ cidr, what }))
}

/** Among the addresses of a node are its host names, too. */
function addressesOf(addresses: unknown, what: string): readonly ClusterRange[] {
  const all: unknown[] = Array.isArray(addresses) ? addresses.slice(0, ADDRESSES_MAX) : []
  return all.flatMap((one) => {
    const { address } = (one ?? {}) as { readonly address?: unknown }
    const parsed = typeof address === 'string' && address.length <= TEXT_MAX ? parseIp(address) : undefined
    if (parsed === undefined) return []
    return [{ cidr: `${ipText(parsed)}/${parsed.family === 4 ? 32 : 128}`, what, isNode: true } as const]
  })
}
