import { POLICY_DEFAULTS, parsePolicy } from '@open-terrain/constructs/operator'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { ConfigMap } from '../../harness/kinds.ts'
import type { Disturbances } from '../disturbances.ts'
import { POLICY_KEY } from '../objects.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'

interface Limit {
  /** The highest `kickLimit` that the operator may use while this is what people wrote. */
  readonly kicks: number
  untilMs: number
}

export interface KickLimitsOptions {
  readonly chronicle: { readonly nowMs: number }
  readonly disturbances: Disturbances
}

/** The limits on kicks that the operator may derive from the policy that people write. */
export class KickLimits implements Oracle {
  readonly #options: KickLimitsOptions
  readonly #limits: Limit[] = []
  /** The shortest `vmProvisionTimeout` so far. */
  #shortestMs = Number.POSITIVE_INFINITY

  constructor(options: KickLimitsOptions) {
    this.#options = options
  }

  /** The highest `kickLimit` that may be in effect now, if the operator knows what it must know. */
  get kickLimit(): number {
    const { chronicle, disturbances } = this.#options
    const known = this.#limits.filter(({ untilMs }) => !mustKnow(disturbances, chronicle.nowMs - untilMs))
    return Math.max(...known.map(({ kicks }) => kicks))
  }

  /** The highest `kickLimit` so far. */
  get highestKickLimit(): number {
    return Math.max(...this.#limits.map(({ kicks }) => kicks))
  }

  get shortestProvisionTimeoutMs(): number {
    return this.#shortestMs
  }

  onCommit({ resource, object, type }: Commit): void {
    if (resource.kind !== 'ConfigMap' || keyOf(object.metadata) !== keyOf(POLICY_KEY)) return
    const { data = {} } = type === 'DELETED' ? {} : (object as ConfigMap)
    this.#note(data['kickLimit'])
    this.#shortestMs = Math.min(this.#shortestMs, parsePolicy(data, POLICY_DEFAULTS).policy.vmProvisionTimeoutMs)
  }

  #note(value: string | undefined): void {
    const last = this.#limits.at(-1)
    const isGood = value !== undefined && /^[0-9]{1,2}$/.test(value)
    // A process that has read a valid value keeps it, and one that starts now has the default.
    const kicks = isGood ? Number(value) : Math.max(last?.kicks ?? 0, POLICY_DEFAULTS.kickLimit)
    if (kicks === last?.kicks) return
    if (last !== undefined) last.untilMs = this.#options.chronicle.nowMs
    this.#limits.push({ kicks, untilMs: Number.POSITIVE_INFINITY })
  }
}
