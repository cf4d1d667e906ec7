import { POLICY_DEFAULTS, parsePolicy } from '@open-terrain/constructs'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { ConfigMap } from '../../harness/kinds.ts'
import type { Disturbances } from '../disturbances.ts'
import { POLICY_KEY } from '../objects.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'

interface Limit {
  /** The most that the operator may take for `kickLimit` as long as this is what people wrote. */
  readonly kicks: number
  untilMs: number
}

export interface KickLimitsOptions {
  readonly chronicle: { readonly nowMs: number }
  readonly disturbances: Disturbances
}

/** What the operator may make of the policy that people write, as far as it is about kicks. */
export class KickLimits implements Oracle {
  readonly #options: KickLimitsOptions
  readonly #limits: Limit[] = []
  /** The shortest `vmProvisionTimeout` that ever was. */
  #shortestMs = Number.POSITIVE_INFINITY

  constructor(options: KickLimitsOptions) {
    this.#options = options
  }

  /** The highest `kickLimit` that may be in force now, for an operator that knows what it must know. */
  get kickLimit(): number {
    const { chronicle, disturbances } = this.#options
    const known = this.#limits.filter(({ untilMs }) => !mustKnow(disturbances, chronicle.nowMs - untilMs))
    return Math.max(...known.map(({ kicks }) => kicks))
  }

  /** The highest `kickLimit` that ever was. */
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
    // Whoever has read a good value keeps it, and whoever starts now has the default.
    const kicks = isGood ? Number(value) : Math.max(last?.kicks ?? 0, POLICY_DEFAULTS.kickLimit)
    if (kicks === last?.kicks) return
    if (last !== undefined) last.untilMs = this.#options.chronicle.nowMs
    this.#limits.push({ kicks, untilMs: Number.POSITIVE_INFINITY })
  }
}
