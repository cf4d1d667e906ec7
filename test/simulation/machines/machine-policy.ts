import { POLICY_DEFAULTS, POLICY_NAME, parsePolicy } from '@open-terrain/constructs'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../../../operator/kube/resource-types.ts'
import { OPERATOR_NAMESPACE } from '../chronicle.ts'
import { leaveRefused } from '../people.ts'
import { mustKnow } from '../traces.ts'
import type { MachineWorld } from './machine-world.ts'

const KEY = { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }

interface Limit {
  /** The most that the operator may take for `kickLimit` as long as this is what people wrote. */
  readonly kicks: number
  untilMs: number
}

/** The policy ConfigMap as people edit it, and what the operator may make of it. */
export class MachinePolicy {
  readonly #world: MachineWorld
  readonly #limits: Limit[]
  /** The shortest `vmProvisionTimeout` that ever was. */
  #shortestMs = Number.POSITIVE_INFINITY
  #data: Readonly<Record<string, string>>

  constructor(world: MachineWorld, data: Readonly<Record<string, string>>) {
    this.#world = world
    this.#data = data
    this.#limits = [{ kicks: Number(data['kickLimit']), untilMs: Number.POSITIVE_INFINITY }]
    this.#noteTimeout(data)
  }

  /** The highest `kickLimit` that may be in force now, for an operator that knows what it must know. */
  get kickLimit(): number {
    const { simulated, disturbances } = this.#world
    const { elapsedMs } = simulated.time
    const known = this.#limits.filter(({ untilMs }) => !mustKnow(disturbances, elapsedMs - untilMs))
    return Math.max(...known.map(({ kicks }) => kicks))
  }

  /** The highest `kickLimit` that ever was. */
  get highestKickLimit(): number {
    return Math.max(...this.#limits.map(({ kicks }) => kicks))
  }

  get shortestProvisionTimeoutMs(): number {
    return this.#shortestMs
  }

  set(key: string, value: string): void {
    this.#data = { ...this.#data, [key]: value }
    this.#noteTimeout(this.#data)
    this.restore()
  }

  /** Images may be downloaded again, if that was changed. */
  resume(): void {
    if (this.#data['concurrency'] !== undefined) this.set('concurrency', '4')
  }

  /** Back to what people wrote, where it was deleted. */
  restore(): void {
    const { admin } = this.#world.simulated.cluster
    this.#note(this.#data['kickLimit'])
    if (this.#world.find(CONFIG_MAP, KEY.namespace, KEY.name) === undefined)
      this.#world.simulated.create(CONFIG_MAP, KEY, { data: this.#data })
    else admin.mergePatch<KubeObject>(CONFIG_MAP, KEY, { data: this.#data })
  }

  delete(): void {
    this.#note(undefined)
    leaveRefused(() => this.#world.delete(CONFIG_MAP, KEY.namespace, KEY.name))
  }

  #noteTimeout(data: Readonly<Record<string, string>>): void {
    const { vmProvisionTimeoutMs } = parsePolicy(data, POLICY_DEFAULTS).policy
    this.#shortestMs = Math.min(this.#shortestMs, vmProvisionTimeoutMs)
  }

  #note(value: string | undefined): void {
    const last = this.#limits.at(-1) as Limit
    const isGood = value !== undefined && /^[0-9]{1,2}$/.test(value)
    // Whoever has read a good value keeps it, and whoever starts now has the default.
    const kicks = isGood ? Number(value) : Math.max(last.kicks, POLICY_DEFAULTS.kickLimit)
    if (kicks === last.kicks) return
    last.untilMs = this.#world.simulated.time.elapsedMs
    this.#limits.push({ kicks, untilMs: Number.POSITIVE_INFINITY })
  }
}
