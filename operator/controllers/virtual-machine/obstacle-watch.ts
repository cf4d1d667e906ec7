import { isDeepStrictEqual } from 'node:util'
import { LABELS } from '@open-terrain/constructs'
import { isOnPodNetwork } from '@open-terrain/constructs/operator'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { type PodEvent, viewPodEvent, warningOf } from '../../cluster/pod-events.ts'
import { isApiError } from '../../kube/api-error.ts'
import type { ListOptions } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { listAll, listPages } from '../../kube/list-all.ts'
import { EVENT, NETWORK_ATTACHMENT_DEFINITION, POD, VIRTUAL_MACHINE_INSTANCE } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'
import type { Requeue } from '../../runtime/requeue.ts'
import { isRefused, isStarting, refusalOf, refusedOf, reportsHang } from './decide/judge.ts'
import type { CreateRefusal, MachineView, MachineWorld, Obstacle } from './world.ts'

/** How long a start may take before the first look. */
const PATIENCE_MS = 30_000
const READ_EVERY_MS = 30_000
/** If machines hang in many namespaces, one look per second is enough for all of them together. */
const APART_MS = 1_000
/** Maximum number of Events that one list of a namespace reads. */
const EVENTS_MAX = 5_000

/** The part of a starting machine that a look needs. */
export interface Needs {
  readonly instanceUid: string | undefined
  /** Names of the NetworkAttachmentDefinitions that its interfaces need, with a namespace if they are attached to an existing one. */
  readonly networks: readonly string[]
  /** Uid of the object for which KubeVirt cannot create something; undefined if nothing is refused. */
  readonly refusedUid: string | undefined
  /** It hung before this process knew of it, so the first look is due at once. */
  readonly hasHung: boolean
}

/** A machine that is starting. */
interface GuestStart extends Omit<Needs, 'hasHung'> {
  readonly key: string
  readonly since: number
  /** What blocks it, as found by a look. */
  obstacle: Obstacle | undefined
  /** Whether this process has looked, or tried to. */
  isRead: boolean
  /** Whether it hung before this process knew of it, and this process has not yet looked or tried to. */
  isAwaited: boolean
}

/** What is known about a namespace in which machines are starting. */
class Place {
  readonly starts = new Map<string, GuestStart>()
  /** When the last look began. */
  readAt = Number.NEGATIVE_INFINITY
  /** Whether a look has ended, successfully or not. */
  isRead = false
  found: Found | undefined
}

/** The result of a look. */
interface Found {
  /** Undefined if all machines of the look were refused. */
  readonly pods:
    | undefined
    | {
        /** Names of the NetworkAttachmentDefinitions, with a namespace if it is another one; undefined if the cluster does not serve the kind. */
        readonly networks: ReadonlySet<string> | undefined
        /** Warnings about launcher pods, by uid of the instance. */
        readonly warnings: ReadonlyMap<string, string | undefined>
      }
  /** By uid of each object for which something could not be created: what was found about it. */
  readonly refusals: ReadonlyMap<string, CreateRefusal | undefined>
}

/**
 * Finds by live looks what keeps machines from starting, if KubeVirt does not report it: NetworkAttachmentDefinitions that do not exist,
 * Warning events about the pods, and the newest refusal, since KubeVirt's conditions keep only the first text. A look covers all machines of a
 * namespace, with up to three lists for those that start and one for those that are refused. It runs at most every 30 s, for one namespace
 * after the other, and only while a machine hangs: there is no watch, and no request while machines start as they should.
 */
export class ObstacleWatch extends LiveReadLoop {
  readonly #options: LiveReadLoopOptions
  readonly #places = new Map<string, Place>()

  constructor(options: LiveReadLoopOptions) {
    super(options, 'virtualmachine-obstacles', (namespace, signal) => this.#look(namespace, signal))
    this.#options = options
  }

  /** Returns what is known about the start of a machine; undefined if it is not starting. */
  look(world: MachineWorld): Readonly<GuestStart> | undefined {
    const { vm, spec, instance } = world
    if (!spec.ok || !(isStarting(world) || isRefused(world))) {
      this.drop(vm)
      return undefined
    }
    return this.note(vm, {
      instanceUid: instance?.metadata.uid,
      networks: (spec.spec.interfaces ?? [])
        .filter((nic) => !isOnPodNetwork(nic))
        .map(({ network, attach }) => attach ?? network),
      refusedUid: refusedOf(world)?.metadata.uid,
      hasHung: reportsHang(vm.status),
    })
  }

  /** Records that a machine is starting. Returns what is known about the start. */
  note({ metadata }: MachineView, { hasHung, ...needs }: Needs): Readonly<GuestStart> {
    const { namespace = '', uid = '' } = metadata
    const now = this.#options.clock.monotonic()
    const place = this.#places.get(namespace) ?? new Place()
    this.#places.set(namespace, place)
    const { starts, found } = place
    const known = starts.get(uid)
    if (known !== undefined) {
      // A corrected network name counts at once, not only after the next look.
      return Object.assign(known, needs, { obstacle: known.obstacle && obstacleOf(needs, found) })
    }
    const since = hasHung ? now - PATIENCE_MS : now
    const isRead = place.isRead && (found === undefined || covers(found, needs))
    const obstacle = hasHung ? obstacleOf(needs, found) : undefined
    const start = { key: keyOf(metadata), since, ...needs, obstacle, isRead, isAwaited: hasHung && !isRead }
    starts.set(uid, start)
    this.readAfter(namespace, since + PATIENCE_MS - now)
    return start
  }

  /** Forgets a machine that is not starting any more. */
  drop({ metadata: { namespace = '', uid = '' } }: MachineView): void {
    const place = this.#places.get(namespace)
    if (place?.starts.delete(uid) && place.starts.size === 0) this.#places.delete(namespace)
  }

  async #look(namespace: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { clock } = this.#options
    const place = this.#places.get(namespace)
    if (place === undefined) return undefined
    const now = clock.monotonic()
    const everyMs = this.#everyMs(place)
    const eldest = Math.min(...[...place.starts.values()].map(({ since }) => since))
    const leftMs = Math.max(eldest + PATIENCE_MS, place.readAt + everyMs) - now
    if (leftMs > 0) return { afterMs: leftMs, because: 'a machine hangs by then' }
    // Set before the requests, so that a look that fails counts as well.
    place.readAt = now
    let found: Found | undefined
    try {
      found = await this.#find(namespace, [...place.starts.values()], signal)
      place.found = found
    } finally {
      place.isRead = true
      // A look that failed counts for all. Another one serves those that were noted meanwhile only if it asked for what they need.
      const isServed = (start: GuestStart) =>
        start.isAwaited ? found === undefined || covers(found, start) : now - start.since >= PATIENCE_MS
      for (const start of place.starts.values()) if (isServed(start)) this.#report(start, place.found)
    }
    return { afterMs: this.#everyMs(place), because: 'it may be gone by then' }
  }

  /** A machine that waits for its first look is not planned until then. */
  #everyMs({ starts }: Place): number {
    const hasAwaited = [...starts.values()].some(({ isAwaited }) => isAwaited)
    return Math.max(hasAwaited ? 0 : READ_EVERY_MS, this.#places.size * APART_MS)
  }

  async #find(namespace: string, starts: readonly GuestStart[], signal: AbortSignal): Promise<Found> {
    const refused = new Set(starts.flatMap(({ refusedUid }) => refusedUid ?? []))
    const hasPods = starts.some(({ refusedUid }) => refusedUid === undefined)
    const pods = hasPods
      ? {
          networks: await this.#networksFor(namespace, starts, signal),
          warnings: await this.#warningsIn(namespace, signal),
        }
      : undefined
    const refusals = refused.size > 0 ? await this.#refusalsIn(namespace, refused, signal) : new Map()
    return { pods, refusals }
  }

  #report(start: GuestStart, found: Found | undefined): void {
    const obstacle = obstacleOf(start, found)
    const isChanged = !start.isRead || !isDeepStrictEqual(start.obstacle, obstacle)
    Object.assign(start, { obstacle, isRead: true, isAwaited: false })
    if (isChanged) this.#options.onChange(start.key)
  }

  /** Returns the networks that exist there, and those elsewhere that some start needs, as `<namespace>/<name>`. */
  async #networksFor(
    namespace: string,
    starts: readonly GuestStart[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string> | undefined> {
    const own = await this.#networksIn(namespace, signal)
    if (own === undefined) return undefined
    const names = new Set(own)
    const elsewhere = starts.flatMap(({ networks }) => networks).filter((name) => name.includes('/'))
    for (const other of new Set(elsewhere.map((name) => name.replace(/\/.*/, ''))))
      for (const name of (await this.#networksIn(other, signal)) ?? []) names.add(`${other}/${name}`)
    return names
  }

  /** Returns the names of the NetworkAttachmentDefinitions; undefined if the cluster does not serve the kind. */
  async #networksIn(namespace: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    try {
      const names = new Set<string>()
      const project = ({ metadata }: KubeObject) => metadata.name
      const inNamespace = { namespace, metadataOnly: true, signal, project }
      for await (const page of listPages(this.#options.client, NETWORK_ATTACHMENT_DEFINITION, inNamespace))
        for (const name of page.items) names.add(name)
      return names
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #warningsIn(namespace: string, signal: AbortSignal): Promise<ReadonlyMap<string, string | undefined>> {
    const { client, clock } = this.#options
    const now = clock.now()
    /** Uid of the instance, by uid of its launcher pod. */
    const instances = new Map<string | undefined, string>()
    const pending = { labelSelector: LABELS.vmUid, fieldSelector: 'status.phase=Pending' }
    const pods = { namespace, ...pending, metadataOnly: true, signal, project: launched }
    for await (const { uid, instance } of listAll(client, POD, pods))
      if (instance !== undefined) instances.set(uid, instance)
    if (instances.size === 0) return new Map()
    const about = { namespace, fieldSelector: 'involvedObject.kind=Pod,type=Warning', signal }
    const ofPod = (uid: string | undefined) => instances.get(uid)
    return await this.#readEvents(about, ofPod, (events) => warningOf(events, now))
  }

  /** Returns KubeVirt's newest refusal for each object for which it cannot create something. */
  async #refusalsIn(namespace: string, refused: ReadonlySet<string>, signal: AbortSignal): Promise<Found['refusals']> {
    const about = { namespace, fieldSelector: 'reason=FailedCreate,type=Warning', signal }
    const ofRefused = (uid = '') => (refused.has(uid) ? uid : undefined)
    const found = await this.#readEvents(about, ofRefused, refusalOf)
    return new Map(Array.from(refused, (uid) => [uid, found.get(uid)]))
  }

  /**
   * Lists Events, and returns what `read` makes of each group of them.
   * @param groupOf returns the group for the uid of the object that an Event is about; undefined leaves the Event out
   */
  async #readEvents<T>(
    options: ListOptions,
    groupOf: (uid: string | undefined) => string | undefined,
    read: (events: readonly PodEvent[]) => T,
  ): Promise<ReadonlyMap<string, T>> {
    const events = new Map<string, PodEvent[]>()
    let count = 0
    for await (const event of listAll(this.#options.client, EVENT, { ...options, project: viewPodEvent })) {
      count += 1
      if (count > EVENTS_MAX) break
      const group = groupOf(event.involvedObject?.uid)
      if (group === undefined) continue
      const ofGroup = events.get(group) ?? []
      events.set(group, ofGroup)
      ofGroup.push(event)
    }
    return new Map(Array.from(events, ([group, ofGroup]) => [group, read(ofGroup)]))
  }
}

/** Reports whether a look asked for what this start needs. */
function covers({ pods, refusals }: Found, { refusedUid }: Pick<Needs, 'refusedUid'>): boolean {
  return refusedUid === undefined ? pods !== undefined : refusals.has(refusedUid)
}

function obstacleOf({ networks, instanceUid = '', refusedUid }: Omit<Needs, 'hasHung'>, found: Found | undefined) {
  const refusal = refusedUid === undefined ? undefined : found?.refusals.get(refusedUid)
  if (refusal !== undefined) return { missingNetworks: [], hasMultus: true, warning: undefined, refusal }
  const pods = found?.pods
  if (pods === undefined || refusedUid !== undefined) return undefined
  const missingNetworks = networks.filter((name) => pods.networks?.has(name) !== true)
  const warning = pods.warnings.get(instanceUid)
  if (missingNetworks.length === 0 && warning === undefined) return undefined
  return { missingNetworks, hasMultus: pods.networks !== undefined, warning }
}

/** Returns the uid of a launcher pod and the uid of its instance. */
function launched(pod: KubeObject) {
  return { uid: pod.metadata.uid, instance: controllerOfKind(pod, VIRTUAL_MACHINE_INSTANCE)?.uid }
}
