import { type KubeObject, keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA } from '../../operator/kube/resource-types.ts'
import { forbidden } from './errors.ts'
import type { Commit, ObjectStore } from './object-store.ts'
import { hasEnded, podUsage, unspecified } from './pod-usage.ts'
import { amountOf, quantityOf } from './resource-amounts.ts'

const ADMISSION = 'quota-admission'
const CONTROLLER = 'quota-controller'

/** Amounts by resource, such as `persistentvolumeclaims`. */
type Amounts = ReadonlyMap<string, bigint>

interface Exceeded {
  readonly resource: string
  readonly amount: bigint
  readonly before: bigint
  readonly most: bigint
}

interface Quota extends KubeObject {
  readonly spec?: { readonly hard?: Readonly<Record<string, string>> }
  readonly status?: Partial<Record<'hard' | 'used', Readonly<Record<string, string>>>>
}

interface Counted extends KubeObject {
  readonly spec?: {
    readonly storageClassName?: string
    readonly resources?: { readonly requests?: { readonly storage?: string } }
  }
}

/**
 * ResourceQuotas of claims and pods. Admission counts a new object at once, and reads only the status of the quota. The quota controller
 * writes that status when the quota changes, and counts again shortly after an object is gone or finished. Quotas have no scopes here.
 */
export class Quotas {
  readonly #store: ObjectStore
  readonly #later: (work: () => void) => void
  readonly #due = new Set<string>()

  /** @param later runs work after a short delay */
  constructor(store: ObjectStore, later: (work: () => void) => void) {
    this.#store = store
    this.#later = later
    store.onCommit((commit) => this.#onCommit(commit))
  }

  /** Throws if a quota has no room for the object. Otherwise adds the object to the used amounts. */
  admit(type: ResourceType, object: KubeObject): void {
    const requested = usageOf(type, object)
    if (requested.size === 0) return
    const quotas = this.#quotasIn(object.metadata.namespace)
    for (const { metadata, status: { hard, used } = {} } of quotas) {
      const [limited, taken] = [amountsOf(hard), amountsOf(used)]
      const silent = type === POD ? unspecified(object, [...limited.keys()]) : undefined
      if (silent !== undefined) throw forbidden(type, object.metadata.name, `failed quota: ${metadata.name}: ${silent}`)
      const exceeded = [...requested].flatMap(([resource, amount]) => {
        const most = limited.get(resource)
        const before = taken.get(resource) ?? 0n
        return most === undefined || before + amount <= most ? [] : [{ resource, amount, before, most }]
      })
      if (exceeded.length > 0) throw forbidden(type, object.metadata.name, exceededText(metadata.name, exceeded))
    }
    for (const quota of quotas) this.#setUsed(ADMISSION, quota, sum([amountsOf(quota.status?.used), requested]))
  }

  #onCommit({ type, resource, object, before }: Commit): void {
    const { namespace = '' } = object.metadata
    if (resource === RESOURCE_QUOTA) {
      const [now, then] = [object, before].map((one) => JSON.stringify((one as Quota | undefined)?.spec))
      if (type !== 'DELETED' && now !== then) this.#enqueue(namespace)
      return
    }
    const isFreed = type === 'DELETED' || (hasEnded(object) && !(before !== undefined && hasEnded(before)))
    if (isFreed && usageOf(resource, object).size > 0 && this.#quotasIn(namespace).length > 0) this.#enqueue(namespace)
  }

  #enqueue(namespace: string): void {
    if (this.#due.has(namespace)) return
    this.#due.add(namespace)
    this.#later(() => {
      this.#due.delete(namespace)
      const used = sum(
        [PERSISTENT_VOLUME_CLAIM, POD].flatMap((type) =>
          [...this.#store.table(type).objects.values()]
            .filter(({ metadata }) => metadata.namespace === namespace)
            .map((object) => usageOf(type, object)),
        ),
      )
      for (const quota of this.#quotasIn(namespace)) this.#setUsed(CONTROLLER, quota, used)
    })
  }

  #quotasIn(namespace: string | undefined): Quota[] {
    if (!this.#store.isServed(RESOURCE_QUOTA)) return []
    const all = [...this.#store.table(RESOURCE_QUOTA).objects.values()]
    const found = all.filter(({ metadata }) => metadata.namespace === namespace)
    return found.sort((a, b) => (keyOf(a.metadata) < keyOf(b.metadata) ? -1 : 1))
  }

  /** Writes only the resources that the quota limits. */
  #setUsed(actor: string, quota: Quota, amounts: Amounts): void {
    const hard = actor === CONTROLLER ? (quota.spec?.hard ?? {}) : (quota.status?.hard ?? {})
    const used = Object.fromEntries(
      Object.keys(hard).map((resource) => [resource, quantityOf(resource, amounts.get(resource) ?? 0n)]),
    )
    const status = { hard, used }
    if (JSON.stringify(status) === JSON.stringify(quota.status)) return
    this.#store.put(actor, this.#store.table(RESOURCE_QUOTA), { ...quota, status } as KubeObject)
  }
}

/** Returns the message about the exceeded resources, in the order of their names. */
function exceededText(quota: string, exceeded: readonly Exceeded[]): string {
  const ordered = [...exceeded].sort((a, b) => (a.resource < b.resource ? -1 : 1))
  const said = (of: 'amount' | 'before' | 'most') =>
    ordered.map((one) => `${one.resource}=${quantityOf(one.resource, one[of])}`).join(',')
  return `exceeded quota: ${quota}, requested: ${said('amount')}, used: ${said('before')}, limited: ${said('most')}`
}

/** Returns what an object uses of each resource. */
function usageOf(type: ResourceType, object: KubeObject): Amounts {
  if (type === POD) return podUsage(object)
  if (type !== PERSISTENT_VOLUME_CLAIM) return new Map()
  const { spec } = object as Counted
  const size = amountOf('requests.storage', spec?.resources?.requests?.storage ?? '0')
  const ofClass = `${spec?.storageClassName ?? ''}.storageclass.storage.k8s.io`
  return new Map([
    ['count/persistentvolumeclaims', 1n],
    ['persistentvolumeclaims', 1n],
    ['requests.storage', size],
    [`${ofClass}/persistentvolumeclaims`, 1n],
    [`${ofClass}/requests.storage`, size],
  ])
}

function amountsOf(texts: Readonly<Record<string, string>> = {}): Amounts {
  return new Map(Object.entries(texts).map(([resource, text]) => [resource, amountOf(resource, text)]))
}

function sum(all: readonly Amounts[]): Amounts {
  const total = new Map<string, bigint>()
  for (const amounts of all)
    for (const [resource, amount] of amounts) total.set(resource, (total.get(resource) ?? 0n) + amount)
  return total
}
