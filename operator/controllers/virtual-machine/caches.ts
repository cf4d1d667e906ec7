import { virtualMachine } from '@open-terrain/constructs'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../kube/resource-types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { Reflector } from '../../runtime/reflector.ts'
import { Store, type Stored } from '../../runtime/store.ts'
import type { CloneFacts, ImageFacts, InstanceView, KubeVirtView, MachineView } from './views.ts'
import { viewInstance, viewKubeVirt, viewMachine } from './views.ts'

export const MACHINE: ResourceType = {
  group: virtualMachine.group,
  version: virtualMachine.version,
  kind: virtualMachine.kind,
  plural: virtualMachine.plural,
  namespaced: true,
}

/** Indexes over machines. */
export const BY_UID = 'uid'
export const BY_NAMESPACE = 'namespace'
/** Namespace of the image that they name. */
export const BY_IMAGE_NAMESPACE = 'image namespace'
/** `<namespace>/<name>` of the image that they name. */
export const BY_IMAGE = 'image'
/** `<namespace>/<name>` of the Secrets that passwords come from. */
export const BY_PASSWORD_SECRET = 'password secret'

/** Caches that others fill, and machines read. */
export interface SharedCaches {
  readonly images: Readable<ImageFacts>
  readonly dataVolumes: Readable<CloneFacts>
  readonly claims: Readable<KubeObject>
  readonly snapshots: Readable<KubeObject>
  readonly dataSources: Readable<KubeObject>
  readonly secrets: Readable<KubeObject>
  readonly namespaces: Readable<KubeObject>
  readonly definitions: Readable<KubeObject>
  /** Of all kinds of these caches. */
  readonly reflectors: readonly { onInstalled(listener: () => void): () => void }[]
  readonly isInstalled: (type: ResourceType) => boolean
  readonly get: (type: ResourceType, key: string) => KubeObject | undefined
  readonly observeWrite: (type: ResourceType, object: KubeObject) => void
}

/** As much of a store as a reader needs. */
export interface Readable<T extends KubeObject> {
  get(key: string): T | undefined
  onChange(listener: (change: { key: string; before: T | undefined; after: T | undefined }) => void): () => void
}

/** Local copies of machines and of what KubeVirt makes of them. They are kept up to date by every replica, leading or not. */
export class MachineCaches {
  readonly machines = new Store<MachineView>()
    .index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
    .index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? ''])
    .index(BY_IMAGE, imageOf)
    .index(BY_IMAGE_NAMESPACE, (vm) => imageOf(vm).map((key) => key.split('/')[0] ?? ''))
    .index(BY_PASSWORD_SECRET, passwordSecretsOf)
  readonly kubevirt = new Store<KubeVirtView>()
  readonly instances = new Store<InstanceView>()
  readonly shared: SharedCaches
  readonly reflectors: readonly Reflector<Stored>[]
  readonly #options: MachineCachesOptions

  constructor(options: MachineCachesOptions) {
    this.#options = options
    this.shared = options.shared
    this.reflectors = [
      this.#reflect(MACHINE, this.machines, viewMachine),
      this.#reflect(KUBEVIRT_VIRTUAL_MACHINE, this.kubevirt, viewKubeVirt),
      this.#reflect(VIRTUAL_MACHINE_INSTANCE, this.instances, viewInstance),
    ]
    this.shared.definitions.onChange(({ key }) => {
      for (const reflector of this.reflectors)
        if (key === `${reflector.type.plural}.${reflector.type.group}` && reflector.installed !== true) reflector.poke()
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.run(signal)))
  }

  async synced(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.synced))
  }

  readonly isInstalled = (type: ResourceType): boolean => {
    const own = this.#of(type)
    return own === undefined ? this.shared.isInstalled(type) : own.installed === true
  }

  readonly get = (type: ResourceType, key: string): KubeObject | undefined => {
    const own = this.#of(type)
    return own === undefined ? this.shared.get(type, key) : (own.store.get(key) as KubeObject | undefined)
  }

  readonly observeWrite = (type: ResourceType, object: KubeObject): void => {
    const own = this.#of(type)
    if (own === undefined) this.shared.observeWrite(type, object)
    else own.observeWrite(object)
  }

  #of(type: ResourceType): Reflector<Stored> | undefined {
    return this.reflectors.find((reflector) => reflector.type === type)
  }

  #reflect<T extends Stored>(type: ResourceType, store: Store<T>, project: (object: KubeObject) => T) {
    const { onRelist, shared: _shared, ...options } = this.#options
    return new Reflector<T>({
      ...options,
      type,
      store,
      project,
      selection: {},
      onRelist: () => onRelist(type.kind),
    }) as unknown as Reflector<Stored>
  }
}

export interface MachineCachesOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onRelist: (kind: string) => void
  readonly shared: SharedCaches
}

/** The spec is unchecked. */
interface LooseSpec {
  readonly vmDiskImageRef?: { readonly namespace?: unknown; readonly name?: unknown } | null
  readonly users?: readonly ({ readonly passwordSecretRef?: { readonly name?: unknown } | null } | null)[] | null
}

/** `<namespace>/<name>` of the image that a machine names. */
export function imageOf({ spec, metadata }: MachineView): readonly string[] {
  const ref = (spec as LooseSpec | null | undefined)?.vmDiskImageRef
  if (typeof ref?.name !== 'string') return []
  const namespace = typeof ref.namespace === 'string' ? ref.namespace : (metadata.namespace ?? '')
  return [keyOf({ namespace, name: ref.name })]
}

function passwordSecretsOf({ spec, metadata: { namespace = '' } }: MachineView): readonly string[] {
  const users = (spec as LooseSpec | null | undefined)?.users
  if (!Array.isArray(users)) return []
  const names = users.map((user) => user?.passwordSecretRef?.name).filter((name) => typeof name === 'string')
  return [...new Set(names)].map((name) => keyOf({ namespace, name }))
}
