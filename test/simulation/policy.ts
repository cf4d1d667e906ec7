import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import type { MemoryCluster } from '../../sandbox/memory-cluster/index.ts'
import type { Actor } from './kind.ts'
import * as objects from './objects.ts'
import { find, leaveRefused } from './people.ts'
import type { Action, PolicyPlan } from './schedule.ts'
import type { Trouble } from './trouble.ts'

/** One of the values with which actions spoil the policy, but valid for `retryLimit`. */
const MORE_RETRIES = '5'
const DEFAULT_RETRIES = 2

export interface PolicyOptions {
  readonly cluster: MemoryCluster
  readonly trouble: Pick<Trouble, 'later'>
}

/** The policy ConfigMap, as people edit it. */
export class Policy implements Actor {
  readonly #world: PolicyOptions
  readonly #plan: PolicyPlan
  #data: objects.PolicyData
  #highestRetryLimit: number

  constructor(world: PolicyOptions, plan: PolicyPlan) {
    this.#world = world
    this.#plan = plan
    this.#data = objects.policyData(plan)
    this.#highestRetryLimit = plan.retryLimit
  }

  /** As people last wrote it, whether or not the ConfigMap exists. */
  get data(): objects.PolicyData {
    return this.#data
  }

  /** The highest `retryLimit` that can have been in force. */
  get highestRetryLimit(): number {
    return this.#highestRetryLimit
  }

  set(data: objects.PolicyData): void {
    const { admin } = this.#world.cluster
    this.#data = data
    const found = find(this.#world, CONFIG_MAP, objects.POLICY_KEY)
    if (found === undefined) admin.create(CONFIG_MAP, objects.policy(data))
    else admin.replace(CONFIG_MAP, { ...found, data } as KubeObject)
  }

  carryOut(action: Action): boolean {
    switch (action.do) {
      case 'setLimit':
        this.set({ ...this.#data, concurrency: String(action.limit) })
        return true
      case 'setRetryLimit':
        this.#permit(action.retryLimit)
        this.set({ ...this.#data, retryLimit: String(action.retryLimit) })
        return true
      case 'setPolicy':
        // One value that is invalid for most keys is valid for this one. With the others, the default applies after a restart.
        if (action.key === 'retryLimit')
          this.#permit(action.value === MORE_RETRIES ? Number(MORE_RETRIES) : DEFAULT_RETRIES)
        this.set({ ...this.#data, [action.key]: action.value })
        return true
      case 'deletePolicy':
        leaveRefused(() => this.#world.cluster.admin.delete(CONFIG_MAP, objects.POLICY_KEY))
        // After a restart without a policy, the defaults apply.
        this.#permit(DEFAULT_RETRIES)
        this.#world.trouble.later(action.forMs, () => this.set(this.#data))
        return true
      default:
        return false
    }
  }

  /** Sets a policy under which everything can finish. */
  makeSound(): void {
    const { concurrency, retryLimit = '', keepSourceVolume } = this.#data
    const limit = Number(concurrency)
    this.#permit(1)
    this.set({
      ...this.#data,
      concurrency: String(Number.isInteger(limit) && limit > 0 && limit <= 50 ? limit : 3),
      // An attempt that has been hanging since before must not be the last one.
      retryLimit: /^[1-3]$/.test(retryLimit) ? retryLimit : '1',
      retryBackoffDuration: '5s',
      attemptTimeout: objects.policyData(this.#plan)['attemptTimeout'] ?? '',
      keepSourceVolume: keepSourceVolume === 'false' ? 'false' : 'true',
      // A lab that is still on stays on.
      ...('workspaceLifetime' in this.#data && { workspaceLifetime: '' }),
    })
  }

  #permit(retries: number): void {
    this.#highestRetryLimit = Math.max(this.#highestRetryLimit, retries)
  }
}
