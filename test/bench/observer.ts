import { FINALIZERS, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { systemClock } from '../../operator/base/clock.ts'
import { DATA_SYNC } from '../../operator/controllers/data-sync/caches.ts'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import { compareResourceVersions, type KubeObject, keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import { Reflector } from '../../operator/runtime/reflector.ts'
import { Store } from '../../operator/runtime/store.ts'
import type { Workspace } from '../harness/kinds.ts'
import { silentLog } from '../harness/log.ts'
import { Waiting } from '../harness/waiting.ts'
import type { Download, Turn } from './queue-arithmetic.ts'

/** A wait this long is a hang, on a machine of any speed. No figure depends on it. */
const HANGS_AFTER_MS = 600_000

interface Seen extends KubeObject {
  /** When the event was received, in milliseconds of the monotonic clock. */
  readonly at: number
}

interface SeenImage extends Seen {
  readonly phase: string | undefined
  readonly ticket: string | undefined
  readonly isAdmissible: boolean
  /** Everything except what changes by itself: progress and queue position. */
  readonly news: string
}

interface SeenDataVolume extends Seen {
  readonly phase: string | undefined
  readonly imageUid: string | undefined
}

interface SeenPhase extends Seen {
  readonly phase: string | undefined
}

/** One write of the slot ledger. */
export interface LedgerWrite {
  readonly at: number
  readonly revision: string
  readonly limit: number
  readonly holders: readonly { readonly uid: string; readonly claimant: string }[]
}

/** Status writes that only report progress or a queue position. */
export interface SideWrites {
  progress: number
  positions: number
}

/** Tells of every event when the store has taken it in, with what it had before. */
class ObservedStore<T extends KubeObject> extends Store<T> {
  readonly #tell: (item: T, before: T | undefined, isDeleted: boolean) => void

  constructor(tell: (item: T, before: T | undefined, isDeleted: boolean) => void) {
    super()
    this.#tell = tell
  }

  override put(item: T): void {
    const before = this.get(keyOf(item.metadata))
    super.put(item)
    this.#tell(item, before, false)
  }

  override remove(item: T): void {
    const before = this.get(keyOf(item.metadata))
    super.remove(item)
    this.#tell(item, before, true)
  }
}

type Created = Omit<Download, 'endedAt' | 'endedRevision'>

/**
 * Observes images, DataVolumes, virtual machines and the ledger through its own watches, and records when it saw what. All that it knows of
 * the operator are the objects in the cluster.
 */
export class Observer implements AsyncDisposable {
  /** DataVolumes of images, in the order in which they were observed. */
  readonly created: Created[] = []
  /** Ended downloads, in the order of their ends. */
  readonly downloads: Download[] = []
  /** By uid of the image. */
  readonly turns = new Map<string, Turn>()
  readonly ledger: LedgerWrite[] = []
  readonly sideWrites: SideWrites = { progress: 0, positions: 0 }
  /** Uids of virtual machines that have been Ready. */
  readonly readyMachines = new Set<string>()
  /** Uids of DataSyncs that have Succeeded. */
  readonly readyDataSyncs = new Set<string>()
  /** Existing workspaces, by name. */
  readonly workspaces = new Map<string, SeenWorkspace & Pick<SeenPhase, 'phase'>>()
  readonly images: Store<SeenImage>
  readonly dataVolumes: Store<SeenDataVolume>
  readonly #open = new Map<string, Created>()
  readonly #phases = new Map<string | undefined, number>()
  readonly #client: KubeClient
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #synced: Promise<void>[] = []
  readonly #waiting = new Waiting()
  readonly #onEnded = new Set<() => void>()

  private constructor(client: KubeClient, namespace: string) {
    this.#client = client
    this.images = this.#watch(IMAGE, viewImage, (...event) => this.#onImage(...event))
    this.dataVolumes = this.#watch(DATA_VOLUME, viewDataVolume, (...event) => this.#onDataVolume(...event))
    this.#watch(MACHINE, viewPhase, ({ metadata: { uid = '' }, phase }) => {
      if (phase === 'Ready') this.readyMachines.add(uid)
    })
    this.#watch(DATA_SYNC, viewPhase, ({ metadata: { uid = '' }, phase }) => {
      if (phase === 'Succeeded') this.readyDataSyncs.add(uid)
    })
    this.#watch(WORKSPACE, viewWorkspace, ({ metadata: { name }, phase, reason, total }, _before, isDeleted) => {
      if (isDeleted) this.workspaces.delete(name)
      else this.workspaces.set(name, { phase, reason, total })
    })
    const selection = { namespace, fieldSelector: `metadata.name=${LEDGER_NAME}` }
    this.#watch(
      CONFIG_MAP,
      (object) => ({ ...object, at: systemClock.monotonic() }),
      (...event) => this.#onLedger(...event),
      selection,
    )
  }

  /** Resolves when its watches have synced. @param namespace of the ledger */
  static async start(client: KubeClient, namespace: string): Promise<Observer> {
    const observer = new Observer(client, namespace)
    await Promise.all(observer.#synced)
    return observer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  /** Number of images in this phase. Images that existed before the observer started do not count. */
  countIn(phase: string): number {
    return this.#phases.get(phase) ?? 0
  }

  /** Calls `listener` at the end of each download: a slot is free. */
  onDownloadEnded(listener: () => void): void {
    this.#onEnded.add(listener)
  }

  /** Resolves with the result of `probe`, which is called again at each event. Rejects after the timeout, with `what` in the message. */
  async until<T>(what: string, probe: () => T | undefined | false, timeoutMs = HANGS_AFTER_MS): Promise<T> {
    const late = () => new Error(`waited ${timeoutMs / 1_000} s in vain until ${what}`)
    return await this.#waiting.until(probe, timeoutMs, late)
  }

  #watch<T extends Seen>(
    type: ResourceType,
    project: (object: KubeObject) => T,
    onEvent: (item: T, before: T | undefined, isDeleted: boolean) => void,
    selection: Selection = {},
  ): Store<T> {
    const store = new ObservedStore<T>((...event) => {
      onEvent(...event)
      this.#waiting.wake()
    })
    const options = { client: this.#client, type, store, project, selection, log: silentLog }
    const reflector = new Reflector<T>({ ...options, clock: systemClock, random: Math.random })
    this.#running.push(reflector.run(this.#stopping.signal))
    this.#synced.push(reflector.synced)
    return store
  }

  #onImage(image: SeenImage, before: SeenImage | undefined, isDeleted: boolean): void {
    const { uid = '', resourceVersion = '0' } = image.metadata
    if (before !== undefined) this.#countPhase(before.phase, -1)
    if (isDeleted) return
    this.#countPhase(image.phase, 1)
    if (image.isAdmissible && image.ticket !== undefined && !this.turns.has(uid)) {
      this.turns.set(uid, {
        imageUid: uid,
        ticket: image.ticket,
        admissibleAt: image.at,
        admissibleRevision: resourceVersion,
        decidedAfterRevision: this.#decidedAfter(uid, resourceVersion),
      })
    }
    if (before === undefined || before.news !== image.news) return
    if (image.phase === 'Syncing') this.sideWrites.progress += 1
    else if (image.phase === 'Queued') this.sideWrites.positions += 1
  }

  /** Its claim may have been seen before it was: they have different watches. */
  #decidedAfter(uid: string, admissibleRevision: string): string | undefined {
    const isBefore = ({ revision }: LedgerWrite) => compareResourceVersions(revision, admissibleRevision) < 0
    const from = this.ledger.findLastIndex(isBefore) + 1
    const later = this.ledger.slice(from).findIndex(({ holders }) => holders.some((holder) => holder.uid === uid))
    return later < 0 ? undefined : this.ledger[from + later - 1]?.revision
  }

  #countPhase(phase: string | undefined, by: number): void {
    this.#phases.set(phase, (this.#phases.get(phase) ?? 0) + by)
  }

  #onDataVolume({ metadata, at, phase, imageUid }: SeenDataVolume, before: Seen | undefined, isDeleted: boolean): void {
    const { uid = '', resourceVersion = '0' } = metadata
    if (imageUid === undefined) return
    if (before === undefined && !isDeleted) {
      const created = { imageUid, createdAt: at, createdRevision: resourceVersion }
      this.created.push(created)
      this.#open.set(uid, created)
    }
    const open = this.#open.get(uid)
    if (open === undefined || !(isDeleted || phase === 'Succeeded')) return
    this.#open.delete(uid)
    this.downloads.push({ ...open, endedAt: at, endedRevision: resourceVersion })
    for (const listener of this.#onEnded) listener()
  }

  #onLedger(object: Seen, _before: Seen | undefined, isDeleted: boolean): void {
    const { data = {} } = object as Seen & { readonly data?: Readonly<Record<string, string>> }
    if (isDeleted) return
    const last = this.ledger.at(-1)
    const holders = JSON.parse(data['holders'] ?? '[]') as LedgerWrite['holders']
    const revision = object.metadata.resourceVersion ?? '0'
    this.ledger.push({ at: object.at, revision, limit: Number(data['limit']), holders })
    for (const { uid } of holders) {
      const turn = this.turns.get(uid)
      const isNew = last?.holders.every((holder) => holder.uid !== uid)
      if (turn !== undefined && isNew && turn.decidedAfterRevision === undefined)
        this.turns.set(uid, { ...turn, decidedAfterRevision: last?.revision })
    }
  }
}

function viewImage(object: KubeObject): SeenImage {
  const { metadata } = object
  const { status = {} } = object as KubeObject & { readonly status?: VMDiskImageStatus }
  const {
    progress: _progress,
    queuePosition: _position,
    queuePositionTime: _time,
    message: _message,
    ...others
  } = status
  const { conditions = [], ...rest } = others
  const conditionsHold = conditions.map(({ type, status: holds }) => [type, holds])
  const { generation, finalizers, annotations, labels } = metadata
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: slim(metadata),
    at: systemClock.monotonic(),
    phase: status.phase,
    ticket: status.ticket,
    isAdmissible: status.phase === 'Queued' && metadata.finalizers?.includes(FINALIZERS.vmDiskImage) === true,
    news: JSON.stringify([rest, conditionsHold, generation, finalizers, annotations, labels]),
  }
}

function viewDataVolume(object: KubeObject): SeenDataVolume {
  const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === IMAGE.kind)
  return { ...viewPhase(object), imageUid: owner?.uid }
}

function viewPhase(object: KubeObject): SeenPhase {
  const { status } = object as KubeObject & { readonly status?: { readonly phase?: string } }
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: slim(object.metadata),
    at: systemClock.monotonic(),
    phase: status?.phase,
  }
}

interface SeenWorkspace {
  readonly reason: string | undefined
  /** Number of its components. */
  readonly total: number
}

function viewWorkspace(object: KubeObject): SeenPhase & SeenWorkspace {
  const { status } = object as Workspace
  return { ...viewPhase(object), reason: status?.reason, total: status?.counts?.total ?? 0 }
}

function slim({ name, namespace, uid, resourceVersion }: KubeObject['metadata']): KubeObject['metadata'] {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  }
}
