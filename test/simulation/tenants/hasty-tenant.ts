import { isApiError } from '../../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, IMAGE, MACHINE, WORKSPACE } from '../../harness/kinds.ts'
import { SECOND } from '../../prepared/runtime/times.ts'
import { isOperator } from '../chronicle.ts'
import * as objects from '../objects.ts'
import type { ImagePlan } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import type { World } from '../world.ts'

/** When the tenant makes haste, in virtual milliseconds from the start. At the start of each, everything is there at once. */
const HASTE: readonly (readonly [fromMs: number, toMs: number])[] = [
  [0, 30 * SECOND],
  [130 * SECOND, 160 * SECOND],
]
/** If each held up the queue for a time of its own, others would wait for a minute. */
const IMAGES = 12
/** How soon after a write of the operator the object changes again. Less than a request takes. */
const ANSWERS_WITHIN_MS = 2
/** Characters. Annotations of an object may have 256 KiB in all. */
const PADDING = 'x'.repeat(200_000)

const OURS: ReadonlySet<string> = new Set([IMAGE, MACHINE, DATA_SYNC, WORKSPACE].map(({ kind }) => kind))

interface Own {
  readonly type: ResourceType
  readonly name: string
}

/** A user who changes objects of our kinds, all of them their own, as soon as the operator has written them, and deletes and creates some. */
export class HastyTenant {
  readonly #world: World
  readonly #namespace: string
  readonly #random: () => number
  readonly #own = new Map<string, Own>()
  #turns = 0
  #made = 0

  constructor(world: World, namespace: string, random: () => number) {
    this.#world = world
    this.#namespace = namespace
    this.#random = random
    world.onCommit((commit) => this.#onCommit(commit))
  }

  begin(plan: ImagePlan): void {
    for (const [fromMs, toMs] of HASTE) {
      this.#world.time.schedule(fromMs, () => this.#fill(plan))
      this.#world.time.schedule(toMs, () => this.#leave())
    }
  }

  isOwn({ kind, metadata }: KubeObject): boolean {
    return OURS.has(kind) && (metadata.namespace ?? this.#namespace) === this.#namespace
  }

  #fill(plan: ImagePlan): void {
    for (let at = 0; at < IMAGES; at += 1) this.#makeImage(plan)
    const image = [...this.#own.values()].find(({ type }) => type === IMAGE)?.name
    const source = { sourceType: 'http', diskSize: '16Mi', storageClass: 'storage-0' }
    const vms = Array.from({ length: IMAGES }, (_, at) => ({
      name: `vm-${at}`,
      url: urlOf(`tenant-vm-${at}`, 0, plan),
    }))
    const vmDiskImageRef = { namespace: this.#namespace, name: image }
    this.#make(MACHINE, `machine-${this.#made}`, { resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef })
    this.#make(DATA_SYNC, `sync-${this.#made}`, { workspaceId: `t${this.#made}`, ...source, vms })
    this.#make(WORKSPACE, `tenant-${this.#made}`, { volumes: [{ name: 'data', size: '16Mi' }] })
  }

  #makeImage(plan: ImagePlan): void {
    this.#make(IMAGE, `hasty-${this.#made}`, objects.specOf(plan, `tenant-hasty-${this.#made}`, 0))
  }

  #make(type: ResourceType, name: string, spec: object): void {
    this.#made += 1
    const isNamespaced = type !== WORKSPACE
    const metadata = { name, ...(isNamespaced && { namespace: this.#namespace }) }
    const made = this.#world.cluster.admin.create(type, {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata,
      spec,
    } as KubeObject)
    this.#own.set(made.metadata.uid ?? '', { type, name })
  }

  /** Deletes everything, and does not look at it any more. */
  #leave(): void {
    const all = [...this.#own]
    this.#own.clear()
    for (const [, one] of all) this.#try(() => this.#world.cluster.admin.delete(one.type, this.#keyOf(one)))
  }

  #onCommit({ actor, object, type }: Commit): void {
    const own = this.#own.get(object.metadata.uid ?? '')
    if (own === undefined || type === 'DELETED' || !isOperator(actor)) return
    this.#world.time.schedule(this.#random() * ANSWERS_WITHIN_MS, () => {
      if (this.#own.has(object.metadata.uid ?? '')) this.#try(() => this.#change(own))
    })
  }

  #change(own: Own): void {
    this.#turns += 1
    const annotations = {
      'tenant.example.com/turn': String(this.#turns),
      'tenant.example.com/padding': this.#random() < 0.1 ? PADDING : null,
    }
    this.#world.cluster.admin.mergePatch(own.type, this.#keyOf(own), { metadata: { finalizers: null, annotations } })
  }

  #keyOf({ type, name }: Own) {
    return type === WORKSPACE ? { name } : { namespace: this.#namespace, name }
  }

  #try(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!isApiError(error)) throw error
    }
  }
}
