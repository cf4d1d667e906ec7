import { isDeepStrictEqual } from 'node:util'
import { LABELS } from '@open-terrain/constructs'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { type PodEvent, viewPodEvent, warningOf } from '../../cluster/pod-events.ts'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient, ListOptions } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { listAll, listPages } from '../../kube/list-all.ts'
import { EVENT, NETWORK_ATTACHMENT_DEFINITION, POD, VIRTUAL_MACHINE_INSTANCE } from '../../kube/resource-types.ts'
import { LookLoop, type LookLoopOptions } from '../../runtime/look-loop.ts'
import type { Wake } from '../../runtime/wake.ts'
import { isRefused, isStarting, tellsOfHang } from './decide/judge.ts'
import { type CreateRefusal, type Obstacle, refusalOf } from './decide/obstacle.ts'
import { refusedOf } from './decide/plan-retries.ts'
import type { MachineView } from './views.ts'
import type { MachineWorld } from './world.ts'

/** So long a start may take before anybody asks why. */
const PATIENCE_MS = 30_000
const LOOK_EVERY_MS = 30_000
/** With many namespaces in which machines hang, one look a second is enough for all of them. */
const APART_MS = 1_000
/** More events than that about the pods of one namespace are not read. */
const EVENTS_MAX = 5_000

/** As much of a machine that is starting as a look needs. */
export interface Needs {
  readonly instanceUid: string | undefined
  /** Names of the NetworkAttachmentDefinitions that it is to be on. */
  readonly networks: readonly string[]
  /** Of the object for which KubeVirt cannot create something; undefined where nothing is refused. */
  readonly refusedUid?: string | undefined
  /** It hung before this process knew of it, so there is nothing to wait for. */
  readonly hasHung: boolean
}

/** A machine that is starting. */
export interface SlowStart {
  /** What a look has found to be in its way. */
  readonly obstacle: Obstacle | undefined
  /** Whether it hung before this process knew of it, and this process has not looked, or tried to. */
  readonly isAwaited: boolean
}

interface Noted extends SlowStart {
  readonly key: string
  readonly since: number
  instanceUid: string | undefined
  networks: readonly string[]
  refusedUid: string | undefined
  obstacle: Obstacle | undefined
  /** Whether this process has looked, or tried to. */
  isLookedAt: boolean
  isAwaited: boolean
}

/** What is known of a namespace in which machines are starting. */
interface Place {
  readonly starts: Map<string, Noted>
  /** When the last look began. */
  lookedAt: number
  /** Whether one has ended, well or not. */
  isLookedAt: boolean
  found: Found | undefined
}

/** What a look finds. */
interface Found {
  /** Undefined where none was starting. */
  readonly pods?: {
    /** Names of the NetworkAttachmentDefinitions; undefined where the cluster serves none. */
    readonly networks: ReadonlySet<string> | undefined
    /** Of the launcher pods, by uid of the instance. */
    readonly warnings: ReadonlyMap<string, string>
  }
  /** By uid of the object for which something could not be created; undefined where nothing was refused. */
  readonly refusals?: ReadonlyMap<string, CreateRefusal>
}

/**
 * Looks live for what keeps machines from starting, where KubeVirt does not say it: NetworkAttachmentDefinitions that do not exist,
 * Warning events about their pods, and what was refused last, of which its conditions only keep the first text. A look is three lists, or one
 * where something is refused, for all machines of a namespace together, at most every 30 s, one namespace after the other, and only as
 * long as one of them hangs: no watch, and nothing at all while machines start as they should.
 */
export class ObstacleWatch extends LookLoop {
  readonly #options: LookLoopOptions
  readonly #places = new Map<string, Place>()

  constructor(options: LookLoopOptions) {
    super(options, 'virtualmachine-obstacles', (namespace, signal) => this.#look(namespace, signal))
    this.#options = options
  }

  /** What is known of the start of a machine; undefined where it is not starting. */
  look(world: MachineWorld): SlowStart | undefined {
    const { vm, spec, instance } = world
    if (!spec.ok || !(isStarting(world) || isRefused(world))) {
      this.drop(vm)
      return undefined
    }
    return this.note(vm, {
      instanceUid: instance?.metadata.uid,
      networks: (spec.spec.interfaces ?? []).map(({ network }) => network),
      refusedUid: refusedOf(world)?.object.metadata.uid,
      hasHung: tellsOfHang(vm.status),
    })
  }

  /** Notes that a machine is starting; returns what is known of that. */
  note({ metadata }: MachineView, { instanceUid, networks, refusedUid, hasHung }: Needs): SlowStart {
    const { namespace = '', uid = '' } = metadata
    const now = this.#options.clock.monotonic()
    const place = this.#places.get(namespace) ?? unseen()
    this.#places.set(namespace, place)
    const known = place.starts.get(uid)
    if (known !== undefined) {
      Object.assign(known, { instanceUid, networks, refusedUid })
      // A name that was corrected is not held against it until the next look.
      if (known.obstacle !== undefined) known.obstacle = obstacleOf(known, place.found)
      return known
    }
    const since = hasHung ? now - PATIENCE_MS : now
    const { found } = place
    const isAbout = refusedUid === undefined || found === undefined || found.refusals !== undefined
    const isLookedAt = place.isLookedAt && isAbout
    const isAwaited = hasHung && !isLookedAt
    const needs = { instanceUid, networks, refusedUid }
    const start: Noted = { key: keyOf(metadata), since, ...needs, isLookedAt, isAwaited, obstacle: undefined }
    if (hasHung) start.obstacle = obstacleOf(start, found)
    place.starts.set(uid, start)
    this.lookAfter(namespace, since + PATIENCE_MS - now)
    return start
  }

  /** The machine is not starting any more. */
  drop({ metadata: { namespace = '', uid = '' } }: MachineView): void {
    const place = this.#places.get(namespace)
    if (place?.starts.delete(uid) && place.starts.size === 0) this.#places.delete(namespace)
  }

  async #look(namespace: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { clock } = this.#options
    const place = this.#places.get(namespace)
    if (place === undefined) return undefined
    const now = clock.monotonic()
    const everyMs = Math.max(LOOK_EVERY_MS, this.#places.size * APART_MS)
    const eldest = Math.min(...[...place.starts.values()].map(({ since }) => since))
    const leftMs = Math.max(eldest + PATIENCE_MS, place.lookedAt + everyMs) - now
    if (leftMs > 0) return { afterMs: leftMs, because: 'a machine hangs by then' }
    // Before the requests: one that fails counts as well.
    place.lookedAt = now
    try {
      place.found = await this.#find(namespace, [...place.starts.values()], signal)
    } finally {
      place.isLookedAt = true
      for (const start of place.starts.values()) if (now - start.since >= PATIENCE_MS) this.#tell(start, place.found)
    }
    return { afterMs: everyMs, because: 'it may be gone by then' }
  }

  async #find(namespace: string, starts: readonly Noted[], signal: AbortSignal): Promise<Found> {
    const { client, clock } = this.#options
    const refused = new Set(starts.map(({ refusedUid }) => refusedUid).filter((uid) => uid !== undefined))
    const hasPods = starts.some(({ refusedUid }) => refusedUid === undefined)
    const networks = hasPods ? await networksIn(client, namespace, signal) : undefined
    const warnings = hasPods ? await warningsIn(client, namespace, { now: clock.now(), signal }) : undefined
    return {
      ...(warnings !== undefined && { pods: { networks, warnings } }),
      ...(refused.size > 0 && { refusals: await refusalsIn(client, namespace, refused, signal) }),
    }
  }

  #tell(start: Noted, found: Found | undefined): void {
    const obstacle = obstacleOf(start, found)
    const isNews = !start.isLookedAt || !isDeepStrictEqual(start.obstacle, obstacle)
    Object.assign(start, { obstacle, isLookedAt: true, isAwaited: false })
    if (isNews) this.#options.onNews(start.key)
  }
}

function unseen(): Place {
  return { starts: new Map(), lookedAt: Number.NEGATIVE_INFINITY, isLookedAt: false, found: undefined }
}

function obstacleOf(noted: Noted, { pods, refusals }: Found = {}): Obstacle | undefined {
  const { networks, instanceUid = '', refusedUid } = noted
  const refusal = refusedUid === undefined ? undefined : refusals?.get(refusedUid)
  if (refusal !== undefined) return { missingNetworks: [], hasMultus: true, warning: undefined, refusal }
  if (pods === undefined || refusedUid !== undefined) return undefined
  const missingNetworks = networks.filter((name) => pods.networks?.has(name) !== true)
  const warning = pods.warnings.get(instanceUid)
  if (missingNetworks.length === 0 && warning === undefined) return undefined
  return { missingNetworks, hasMultus: pods.networks !== undefined, warning }
}

async function networksIn(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  try {
    const names = new Set<string>()
    const inNamespace = { namespace, metadataOnly: true, signal, project: nameOf }
    for await (const page of listPages(client, NETWORK_ATTACHMENT_DEFINITION, inNamespace))
      for (const name of page.items) names.add(name)
    return names
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

async function warningsIn(
  client: KubeClient,
  namespace: string,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, string>> {
  /** Uid of the instance, by that of its launcher pod. */
  const instances = new Map<string | undefined, string>()
  const pending = { labelSelector: LABELS.vmUid, fieldSelector: 'status.phase=Pending' }
  const pods = { namespace, ...pending, metadataOnly: true, signal, project: launched }
  for await (const { uid, instance } of listAll(client, POD, pods))
    if (instance !== undefined) instances.set(uid, instance)
  if (instances.size === 0) return new Map()
  const about = { namespace, fieldSelector: 'involvedObject.kind=Pod,type=Warning', signal }
  const ofPod = (uid: string | undefined) => instances.get(uid)
  return await toldIn(client, about, ofPod, (events) => warningOf(events, now))
}

/** What KubeVirt said last of each object for which it cannot create something. */
async function refusalsIn(
  client: KubeClient,
  namespace: string,
  refused: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, CreateRefusal>> {
  const about = { namespace, fieldSelector: 'reason=FailedCreate,type=Warning', signal }
  const ofRefused = (uid: string | undefined) => (uid !== undefined && refused.has(uid) ? uid : undefined)
  return await toldIn(client, about, ofRefused, refusalOf)
}

/**
 * What Events tell, by the group that they are of.
 * @param groupOf by uid of what an Event is about; undefined: it is left out
 * @param read what those of a group tell; undefined: nothing
 */
async function toldIn<T>(
  client: KubeClient,
  options: ListOptions,
  groupOf: (uid: string | undefined) => string | undefined,
  read: (events: readonly PodEvent[]) => T | undefined,
): Promise<ReadonlyMap<string, T>> {
  const events = new Map<string, PodEvent[]>()
  let count = 0
  for await (const event of listAll(client, EVENT, { ...options, project: viewPodEvent })) {
    count += 1
    if (count > EVENTS_MAX) break
    const group = groupOf(event.involvedObject?.uid)
    if (group === undefined) continue
    const ofGroup = events.get(group) ?? []
    events.set(group, ofGroup)
    ofGroup.push(event)
  }
  const told = [...events].map(([group, ofGroup]) => [group, read(ofGroup)] as const)
  return new Map(told.filter((one): one is readonly [string, T & {}] => one[1] !== undefined))
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name
}

/** Of a launcher pod, its uid and that of its instance. */
function launched(pod: KubeObject) {
  return { uid: pod.metadata.uid, instance: controllerOfKind(pod, VIRTUAL_MACHINE_INSTANCE)?.uid }
}
