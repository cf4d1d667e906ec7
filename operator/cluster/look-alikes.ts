import { controllerOf } from '../kube/controller-of.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { controllerOfKind, ownerAmong } from './ownership.ts'

/** One Event for each object that is imitated, and no more than a few for all of them, in this time. */
const TOLD_EVERY_MS = 10 * 60_000
const TOLD_AT_ONCE = 20

export interface LookAlikeOptions<T extends KubeObject> {
  /** The kind whose children are imitated. */
  readonly type: ResourceType
  /** Label of a child: uid of its owner. */
  readonly uidLabel: string
  readonly managerLabel: { readonly key: string; readonly value: string }
  readonly owners: { get(key: string): T | undefined }
  readonly ownerWithUid: (uid: string) => T | undefined
  readonly monotonic: () => number
  /** Each one, once. */
  readonly onFound: (kind: string) => void
  readonly tell: (subject: KubeObject, message: string) => void
}

/**
 * Notices what looks like a child of an Open Terrain object and is none: it is counted and reported, and nothing else comes of it. Anybody can make thousands,
 * so few of them are reported.
 */
export class LookAlikes<T extends KubeObject> {
  readonly #options: LookAlikeOptions<T>
  /** When it was last reported, by uid of the object that the Event is about. */
  readonly #toldAt = new Map<string, number>()

  constructor(options: LookAlikeOptions<T>) {
    this.#options = options
  }

  /** An object has come. */
  see(object: KubeObject): void {
    const imitated = this.#imitated(object)
    if (imitated === undefined) return
    const { type, onFound, tell } = this.#options
    onFound(object.kind)
    if (!this.#mayTell(imitated)) return
    const { kind, metadata } = object
    const what = imitated === object ? 'it' : `${kind} ${keyOf(metadata)}`
    const whose = imitated === object ? `a ${type.kind} that does not exist` : `this ${type.kind}`
    tell(imitated, `${what} claims to belong to ${whose}, but does not: the operator ignores it`)
  }

  /** Whose child it seems to be; the object itself where there is no such owner. Undefined: it is one, or does not seem so. */
  #imitated(object: KubeObject): KubeObject | undefined {
    const { type, uidLabel, owners, ownerWithUid, managerLabel } = this.#options
    const { namespace, labels } = object.metadata
    if (ownerAmong(object, owners) !== undefined) return undefined
    const controller = controllerOfKind(object, type)
    const named = ownerWithUid(controller?.uid ?? labels?.[uidLabel] ?? '')
    // At home a label alone says little: it is on claims and pods, and stays on what lost its owner.
    if (named !== undefined && (controller !== undefined || named.metadata.namespace !== namespace)) return named
    const isOfNamesake = labels?.[managerLabel.key] === managerLabel.value && controllerOf(object)?.kind === type.kind
    return controller !== undefined || isOfNamesake ? object : undefined
  }

  #mayTell({ metadata: { uid = '' } }: KubeObject): boolean {
    const now = this.#options.monotonic()
    for (const [other, at] of this.#toldAt) if (now - at >= TOLD_EVERY_MS) this.#toldAt.delete(other)
    if (this.#toldAt.has(uid) || this.#toldAt.size >= TOLD_AT_ONCE) return false
    this.#toldAt.set(uid, now)
    return true
  }
}
