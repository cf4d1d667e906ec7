import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import { SERVICE_ACCOUNT } from '../resource-types.ts'
import { isTerminating } from './deletion.ts'
import type { Commit, ObjectStore } from './object-store.ts'

const ACTOR = 'serviceaccount-controller'
const DEFAULT = 'default'

interface PodOfAccount extends KubeObject {
  readonly spec?: { readonly serviceAccountName?: string }
}

/** Creates the default ServiceAccount of each namespace, and rejects pods whose ServiceAccount does not exist. */
export class ServiceAccounts {
  readonly #store: ObjectStore
  readonly #now: () => number
  #made = 0

  /**
   * @param now wall clock, milliseconds since the epoch
   * @param soon runs work after a short, constant delay, so that nothing that happens meanwhile depends on chance
   */
  constructor(store: ObjectStore, now: () => number, soon: (work: () => void) => void) {
    this.#store = store
    this.#now = now
    store.onCommit(({ type, resource, object }: Commit) => {
      const name = resource === NAMESPACE && type === 'ADDED' ? object.metadata.name : undefined
      const bereft = resource === SERVICE_ACCOUNT && type === 'DELETED' ? object.metadata.namespace : undefined
      const namespace = name ?? bereft
      if (namespace !== undefined) soon(() => this.#ensure(namespace))
    })
  }

  /** Returns why a pod is rejected, or undefined. Real admission waits for the default ServiceAccount, so it is created at once. */
  refusalOf(pod: KubeObject): string | undefined {
    const { namespace = '' } = pod.metadata
    const name = (pod as PodOfAccount).spec?.serviceAccountName ?? DEFAULT
    if (name === DEFAULT) this.#ensure(namespace)
    if (!this.#store.isServed(SERVICE_ACCOUNT) || this.#has(namespace, name)) return undefined
    return `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`
  }

  #ensure(namespace: string): void {
    if (!this.#store.isServed(SERVICE_ACCOUNT) || this.#has(namespace, DEFAULT)) return
    const found = this.#store.table(NAMESPACE).objects.get(namespace)
    if (found === undefined || isTerminating(found)) return
    this.#made += 1
    this.#store.put(ACTOR, this.#store.table(SERVICE_ACCOUNT), {
      apiVersion: apiVersionOf(SERVICE_ACCOUNT),
      kind: SERVICE_ACCOUNT.kind,
      metadata: {
        namespace,
        name: DEFAULT,
        uid: `5acc0000-0000-4000-8000-${this.#made.toString(16).padStart(12, '0')}`,
        creationTimestamp: new Date(this.#now()).toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    })
  }

  #has(namespace: string, name: string): boolean {
    return this.#store.table(SERVICE_ACCOUNT).objects.has(`${namespace}/${name}`)
  }
}
