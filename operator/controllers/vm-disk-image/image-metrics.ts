import {
  type Attempt,
  PHASES,
  parseQuantity,
  REASON_HELP,
  type Reason,
  SOURCE_TYPES,
  type SourceType,
  VM_DISK_IMAGE_CONDITIONS as TYPE,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import type { Counter, Histogram, Registry } from 'prom-client'
import { fromTime } from '../../base/time.ts'
import { ownerAmong } from '../../cluster/ownership.ts'
import { type ImageView, parsedImageSpec } from '../../images/image-view.ts'
import { Meters } from '../../runtime/meters.ts'
import { knownOrOther } from '../../runtime/metric-labels.ts'
import type { Store } from '../../runtime/store.ts'
import { reasonOf } from '../../runtime/summary.ts'
import type { Admission } from './admission/admission.ts'
import type { ImageCaches } from './caches.ts'
import { isUnknownError } from './decide/final-errors.ts'

/** Kinds of objects that may look like a child of an image without being one. */
const IMITATED = ['DataVolume', 'VolumeSnapshot', 'PersistentVolumeClaim', 'Pod']
const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400]

/** What the gauges are read from, in the replica that leads. */
interface Fleet {
  readonly admission: Pick<Admission, 'state' | 'countStrays'> & { readonly queue: { readonly size: number } }
  readonly images: Pick<Store<ImageView>, 'values'>
}

/** Gauges are read when they are scraped, and counters count what watches report: a lost response to a write changes neither. */
export class ImageMetrics {
  readonly #wait: Histogram
  readonly #blocked: Histogram
  #waits = new ImageWaits()
  readonly #started: Counter
  readonly #attempts: Counter
  readonly #unknownErrors: Counter
  readonly #lookAlikes: Counter
  readonly #duration: Histogram
  readonly #removed: Counter
  readonly #lost: Counter
  readonly #clock: { now(): number }
  #fleet: Fleet | undefined

  constructor(registry: Registry, clock: { now(): number }) {
    const meters = new Meters(registry)
    this.#clock = clock
    const ofSlots = (name: string, help: string, read: (admission: Fleet['admission']) => number | undefined) =>
      meters.observed(name, help, () => (this.#fleet && read(this.#fleet.admission)) ?? 0)
    ofSlots('ot_sync_active', 'Slots in use: images that are downloading', ({ state }) => state?.holders.length)
    ofSlots('ot_sync_concurrency_limit', 'Slots that there are (policy key concurrency)', ({ state }) => state?.limit)
    ofSlots('ot_sync_queue_length', 'Images that wait for a slot', ({ queue }) => queue.size)
    ofSlots('ot_sync_without_slot', 'Downloads that hold no slot; each is stopped as soon as it is seen', (admission) =>
      admission.countStrays(),
    )
    const statuses = () => Array.from(this.#fleet?.images.values() ?? [], ({ status }) => status)
    const total = (name: string, help: string, of: (status: VMDiskImageStatus) => number) =>
      meters.observed(name, help, () => statuses().reduce((sum, status) => sum + of(status), 0))
    const having = (name: string, help: string, type: keyof typeof TYPE) =>
      total(name, help, (status) => (isTrue(status, type) ? 1 : 0))
    total('ot_vmdi_references', 'References to VMDiskImages, all together', ({ references }) => references?.count ?? 0)
    total(
      'ot_vmdi_machine_references',
      'References to VMDiskImages by VirtualMachines, all together: those of ot_vmdi_references that are of machines',
      ({ references }) => references?.machines ?? 0,
    )
    having('ot_vmdi_unreferenced', 'VMDiskImages that nothing refers to', TYPE.Unreferenced)
    total('ot_vmdi_bytes', 'Restore sizes of VMDiskImages that have an artifact, all together', bytesOf)
    total(
      'ot_vmdi_unreferenced_bytes',
      'Restore sizes of VMDiskImages that nothing refers to, all together',
      (status) => (isTrue(status, TYPE.Unreferenced) ? bytesOf(status) : 0),
    )
    having('ot_vmdi_deletion_blocked', 'VMDiskImages that are to be deleted and are in use', TYPE.DeletionBlocked)
    const phases = () => statuses().flatMap(({ phase }) => phase ?? [])
    meters.counted('ot_vmdi_phase', 'VMDiskImages by phase', 'phase', phases, Object.keys(PHASES))
    meters.counted('ot_vmdi_failed', 'VMDiskImages that are Failed, by reason', 'reason', () =>
      statuses().flatMap((status) =>
        status.phase === 'Failed' ? knownOrOther(REASON_HELP, reasonOf(status) ?? '') : [],
      ),
    )
    this.#lookAlikes = meters.counter(
      'ot_look_alikes_total',
      'Objects that look like children of VMDiskImages and are not, by kind',
      'kind',
    )
    // Starts at 0, so that the first one is an increase.
    for (const kind of IMITATED) this.#lookAlikes.inc({ kind }, 0)
    this.#wait = meters.histogram(
      'ot_sync_wait_seconds',
      'Time that images waited for a slot alone: from the ticket, or from when nothing was missing any more',
      WAITS,
    )
    this.#blocked = meters.histogram(
      'ot_sync_blocked_seconds',
      'Time that images waited for something that was missing, by reason; counted when it ends',
      WAITS,
      'reason',
    )
    this.#started = meters.counter('ot_sync_started_total', 'Downloads started')
    this.#attempts = meters.counter(
      'ot_sync_attempts_total',
      'Attempts to download that ended, by how and why',
      'result',
      'reason',
    )
    this.#attempts.inc({ result: 'Succeeded', reason: 'Synced' }, 0)
    for (const reason of Object.keys(REASON_HELP)) this.#attempts.inc({ result: 'Failed', reason }, 0)
    this.#unknownErrors = meters.counter(
      'ot_unknown_import_errors_total',
      'Attempts that failed with an error of which the operator does not know whether a retry can fix it, by sourceType',
      'source_type',
    )
    for (const sourceType of SOURCE_TYPES) this.#unknownErrors.inc({ source_type: sourceType }, 0)
    this.#duration = meters.histogram('ot_sync_duration_seconds', 'Duration of successful downloads', WAITS)
    this.#lost = meters.counter('ot_vmdi_artifacts_lost_total', 'Artifacts of VMDiskImages that are gone')
    this.#removed = meters.counter(
      'ot_vmdi_removed_total',
      'VMDiskImages deleted because nothing referred to them for their unreferencedTTL, by whether something ever had',
      'why',
    )
    for (const why of ['LastReferenceWent', 'NeverReferenced']) this.#removed.inc({ why }, 0)
  }

  lookAlike(kind: string): void {
    this.#lookAlikes.inc({ kind })
  }

  /** Sets what the gauges are read from. Undefined: this replica does not lead, and they are 0. */
  readFrom(fleet: Fleet | undefined): void {
    this.#fleet = fleet
  }

  /** An image got a slot. */
  admitted(image: ImageView | undefined): void {
    const now = this.#clock.now()
    const since = image && this.#waits.freeSince(image.metadata.uid ?? '', image.status, now)
    if (since !== undefined) this.#wait.observe(Math.max(0, now - since) / 1_000)
  }

  /** Counts downloads that start, and waits and attempts that end: only a leader causes any of these. Returns functions that stop it. */
  count({ images, cluster }: ImageCaches) {
    // What happened between two terms was counted by another leader.
    this.#waits = new ImageWaits()
    return [
      cluster.dataVolumes.onChange(({ before, after }) => {
        const isNew = before === undefined && after !== undefined
        if (isNew && ownerAmong(after, images) !== undefined) this.#started.inc()
      }),
      images.onChange(({ before, after }) => {
        const uid = (after ?? before)?.metadata.uid ?? ''
        const ended = this.#waits.take(uid, before?.status, after?.status, this.#clock.now())
        if (ended !== undefined)
          this.#blocked.observe({ reason: knownOrOther(REASON_HELP, ended.reason) }, ended.seconds)
        if (before?.status.artifact !== undefined && after !== undefined && after.status.artifact === undefined)
          this.#lost.inc()
        if (before !== undefined)
          this.attempted(before.status.attempts, after?.status.attempts, () => after && sourceTypeOf(after))
      }),
    ]
  }

  /** An image was deleted because nothing refers to it. */
  removed({ lastReferencedTime }: VMDiskImageStatus): void {
    this.#removed.inc({ why: lastReferencedTime === undefined ? 'NeverReferenced' : 'LastReferenceWent' })
  }

  /**
   * Counts the attempts that a change of a status adds.
   * @param sourceTypeNow of the image: one that somebody changes while an attempt ends is counted as the new one
   */
  attempted(
    before: readonly Attempt[] = [],
    after: readonly Attempt[] = [],
    sourceTypeNow: () => SourceType | undefined = () => undefined,
  ): void {
    const known = new Set(before.map(identityOf))
    for (const attempt of after) {
      if (known.has(identityOf(attempt))) continue
      const { outcome, reason, message, startedAt = '', endedAt = '' } = attempt
      this.#attempts.inc({ result: outcome, reason: knownOrOther(REASON_HELP, reason) })
      const sourceType = reason === 'ImporterFailed' ? sourceTypeNow() : undefined
      if (sourceType !== undefined && isUnknownError(message, sourceType))
        this.#unknownErrors.inc({ source_type: sourceType })
      const tookMs = Date.parse(endedAt) - Date.parse(startedAt)
      if (outcome === 'Succeeded' && !Number.isNaN(tookMs)) this.#duration.observe(Math.max(0, tookMs) / 1_000)
    }
  }
}

function isTrue({ conditions }: VMDiskImageStatus, type: keyof typeof TYPE): boolean {
  return conditions?.some((one) => one.type === type && one.status === 'True') ?? false
}

/** Its source type, of the spec or of the policy. Undefined: none that there is. */
function sourceTypeOf(image: ImageView): SourceType | undefined {
  const parsed = parsedImageSpec(image)
  const sourceType = (parsed.ok ? parsed.spec.sourceType : undefined) ?? image.status.defaults?.sourceType
  return SOURCE_TYPES.find((one) => one === sourceType)
}

/** Size of the artifact; 0 before there is one. */
function bytesOf({ artifact }: VMDiskImageStatus): number {
  return Number(parseQuantity(artifact?.restoreSize ?? '0') ?? 0)
}

/** A DataVolume can end twice: one whose claim is deleted downloads again. */
function identityOf({ dataVolumeUID, endedAt }: Attempt): string {
  return `${dataVolumeUID} ${endedAt}`
}

/** Reasons to wait in phase `Queued` that do not mean that something is missing. */
const NOT_BLOCKED: ReadonlySet<string> = new Set<Reason>([
  'Queued',
  'Paused',
  'RetryBackoff',
  'Suspended',
  'Stopping',
  'Unreferenced',
])

interface Block {
  readonly reason: string
  readonly since: number
}

/** Tells the wait for a slot from that for something missing. A wait that began before this process led counts from the ticket. */
export class ImageWaits {
  readonly #blocks = new Map<string, Block>()
  /** When the last block of an image ended. */
  readonly #freeSince = new Map<string, number>()

  /** Handles a status change. Returns the wait for something missing that it ends. */
  take(
    uid: string,
    before: VMDiskImageStatus | undefined,
    after: VMDiskImageStatus | undefined,
    now: number,
  ): { readonly reason: string; readonly seconds: number } | undefined {
    const reason = after && blockOf(after)
    const known = this.#blocks.get(uid) ?? (before && blockBefore(before, now))
    if (after === undefined) this.#freeSince.delete(uid)
    if (known?.reason === reason) {
      if (known !== undefined) this.#blocks.set(uid, known)
      return undefined
    }
    if (reason === undefined) this.#blocks.delete(uid)
    else this.#blocks.set(uid, { reason, since: now })
    if (known === undefined || after === undefined) return undefined
    if (reason === undefined) this.#freeSince.set(uid, now)
    return { reason: known.reason, seconds: Math.max(0, now - known.since) / 1_000 }
  }

  /** Returns since when an image that gets a slot now has waited for nothing else; undefined if it has no ticket. */
  freeSince(uid: string, status: VMDiskImageStatus, now: number): number | undefined {
    const queued = fromTime(status.queuedAt)
    if (queued === undefined) return undefined
    // If it is blocked, its status does not show yet that nothing is missing.
    return blockOf(status) === undefined ? Math.max(queued, this.#freeSince.get(uid) ?? 0) : now
  }
}

function blockOf(status: VMDiskImageStatus): string | undefined {
  const reason = reasonOf(status)
  return status.phase === 'Queued' && reason !== undefined && !NOT_BLOCKED.has(reason) ? reason : undefined
}

function blockBefore(status: VMDiskImageStatus, now: number): Block | undefined {
  const reason = blockOf(status)
  return reason === undefined ? undefined : { reason, since: fromTime(status.queuedAt) ?? now }
}
