import { type Attempt, PHASES, type VMDiskImageStatus } from '@open-terrain/constructs'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { phaseGauge } from '../../runtime/phase-gauge.ts'
import { ImageWaits } from './image-waits.ts'
import type { ImageView } from './views.ts'

const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400]

/** What there is now, in the eyes of the replica that leads. */
export interface ImageFacts {
  readonly slotsInUse: number
  readonly limit: number
  /** Images that wait for a slot. */
  readonly queued: number
  readonly statuses: readonly VMDiskImageStatus[]
}

/**
 * What people who run fleets of images want to see and be alerted on. Gauges are read when they are asked for, and counters
 * count what the cluster is seen to say: a lost answer to a write of ours changes neither.
 */
export class ImageMetrics {
  readonly #policyValid: Gauge
  readonly #wait: Histogram
  readonly #blocked: Histogram
  readonly #waits = new ImageWaits()
  readonly #started: Counter
  readonly #attempts: Counter
  readonly #lookAlikes: Counter
  readonly #duration: Histogram
  readonly #removed: Counter
  readonly #clock: { now(): number }
  #facts: (() => ImageFacts) | undefined

  constructor(registry: Registry, clock: { now(): number }) {
    const registers = [registry]
    this.#clock = clock
    const observed = (name: string, help: string, read: (facts: ImageFacts) => number) => {
      const facts = () => this.#facts?.()
      return new Gauge({
        name,
        help,
        registers,
        collect() {
          const now = facts()
          this.set(now === undefined ? 0 : read(now))
        },
      })
    }
    observed('ot_sync_active', 'Slots in use: images that are downloading', ({ slotsInUse }) => slotsInUse)
    observed('ot_sync_concurrency_limit', 'Slots that there are (policy key concurrency)', ({ limit }) => limit)
    observed('ot_sync_queue_length', 'Images that wait for a slot', ({ queued }) => queued)
    const has = (type: string) => (status: VMDiskImageStatus) =>
      status.conditions?.some((one) => one.type === type && one.status === 'True') === true
    observed('ot_vmdi_references', 'References to VMDiskImages, all together', ({ statuses }) =>
      statuses.reduce((sum, { references }) => sum + (references?.count ?? 0), 0),
    )
    observed(
      'ot_vmdi_unreferenced',
      'VMDiskImages that nothing refers to',
      ({ statuses }) => statuses.filter(has('Unreferenced')).length,
    )
    observed(
      'ot_vmdi_deletion_blocked',
      'VMDiskImages that are to be deleted and are in use',
      ({ statuses }) => statuses.filter(has('DeletionBlocked')).length,
    )
    phaseGauge(registry, { name: 'ot_vmdi_phase', help: 'VMDiskImages by phase' }, PHASES, () =>
      (this.#facts?.().statuses ?? []).map(({ phase }) => phase),
    )
    this.#policyValid = new Gauge({
      name: 'ot_config_valid',
      help: '0 while a key of the policy has a value that is not used',
      registers,
    })
    this.#lookAlikes = new Counter({
      name: 'ot_look_alikes_total',
      help: 'Objects that look like children of VMDiskImages and are not, by kind',
      labelNames: ['kind'],
      registers,
    })
    this.#wait = new Histogram({
      name: 'ot_sync_wait_seconds',
      help: 'Time that images waited for a slot alone: from the ticket, or from when nothing was missing any more',
      buckets: WAITS,
      registers,
    })
    this.#blocked = new Histogram({
      name: 'ot_sync_blocked_seconds',
      help: 'Time that images waited for something that was missing, by reason; counted when it ends',
      labelNames: ['reason'],
      buckets: WAITS,
      registers,
    })
    this.#started = new Counter({ name: 'ot_sync_started_total', help: 'Downloads started', registers })
    this.#attempts = new Counter({
      name: 'ot_sync_attempts_total',
      help: 'Attempts ended',
      labelNames: ['result', 'reason'],
      registers,
    })
    this.#duration = new Histogram({
      name: 'ot_sync_duration_seconds',
      help: 'Duration of successful downloads',
      buckets: WAITS,
      registers,
    })
    this.#removed = new Counter({
      name: 'ot_vmdi_removed_total',
      help: 'VMDiskImages deleted because nothing referred to them for their unreferencedTTL, by whether something ever had',
      labelNames: ['why'],
      registers,
    })
    this.#policyValid.set(1)
  }

  lookAlike(kind: string): void {
    this.#lookAlikes.inc({ kind })
  }

  /** Where the gauges are read; undefined where this replica does not lead, and they are 0. */
  readFrom(facts: (() => ImageFacts) | undefined): void {
    this.#facts = facts
  }

  /** An image got a slot. */
  admitted(image: ImageView | undefined): void {
    const now = this.#clock.now()
    const since = image && this.#waits.freeSince(image.metadata.uid ?? '', image.status, now)
    if (since !== undefined) this.#wait.observe(Math.max(0, now - since) / 1_000)
  }

  /** What an image says of its wait, before and after a change. */
  waited(before: ImageView | undefined, after: ImageView | undefined): void {
    const uid = (after ?? before)?.metadata.uid ?? ''
    const ended = this.#waits.take(uid, before?.status, after?.status, this.#clock.now())
    if (ended !== undefined) this.#blocked.observe({ reason: ended.reason }, ended.seconds)
  }

  /** An image was deleted because nothing refers to it. */
  removed({ lastReferencedTime }: VMDiskImageStatus): void {
    this.#removed.inc({ why: lastReferencedTime === undefined ? 'NeverReferenced' : 'LastReferenceWent' })
  }

  started(): void {
    this.#started.inc()
  }

  /** What an image says of its attempts, before and after a change. */
  attempted(before: readonly Attempt[] = [], after: readonly Attempt[] = []): void {
    const known = new Set(before.map(identityOf))
    for (const attempt of after) if (!known.has(identityOf(attempt))) this.#ended(attempt)
  }

  policyValid(isValid: boolean): void {
    this.#policyValid.set(isValid ? 1 : 0)
  }

  #ended({ outcome, reason, startedAt, endedAt = '' }: Attempt): void {
    this.#attempts.inc({ result: outcome, reason })
    const seconds = secondsBetween(startedAt, Date.parse(endedAt))
    if (outcome === 'Succeeded' && seconds !== undefined) this.#duration.observe(seconds)
  }
}

/** A DataVolume can end twice: one whose claim is deleted downloads again. */
function identityOf({ dataVolumeUID, endedAt }: Attempt): string {
  return `${dataVolumeUID} ${endedAt}`
}

function secondsBetween(start: string | undefined, end: number): number | undefined {
  const seconds = (end - Date.parse(start ?? '')) / 1_000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
