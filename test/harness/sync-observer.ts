import type { Attempt } from '@open-terrain/constructs/operator'
import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import type { DataVolume, Image } from './kinds.ts'
import type { World } from './world.ts'

interface Interval {
  /** Seconds. */
  readonly least: number
  readonly most: number
}

interface Seen {
  readonly uid: string
  readonly at: number
}

interface Claim extends Seen {
  readonly version: string
  /** The time of the last act before it. */
  readonly actedAt: number
}

/**
 * Counts what an observer outside the operator sees through its own watches, with the times of the watch events. Objects do
 * not show times inside the operator, so such a time is known as an interval: everything is triggered by the last {@link
 * act}, and was over when an object showed it.
 */
export class SyncObserver {
  /** Created DataVolumes of images, by uid. */
  readonly #downloads = new Map<string, Seen>()
  readonly #claims: Claim[] = []
  readonly #queued: { readonly uid: string; readonly version: string; readonly queuedAt: number }[] = []
  readonly #syncing = new Map<string, number>()
  readonly #ended: (Seen & { readonly attempt: Attempt })[] = []
  readonly #released: Seen[] = []
  #holders = new Set<string>()
  #actedAt = Date.now()

  constructor(world: World) {
    const { images, dataVolumes, configMaps } = world.mirror
    images.onChange(({ before, after }) => {
      if (after !== undefined) this.#seeImage(before, after)
    })
    dataVolumes.onChange(({ before, after }) => {
      if (before === undefined && after !== undefined) this.#seeDownload(after)
    })
    configMaps.onChange(({ after }) => {
      if (after?.metadata.name === 'sync-operator-slots') this.#seeLedger(world, after.metadata.resourceVersion ?? '0')
    })
  }

  /** Must be called before every action that the operator reacts to. */
  act(): void {
    this.#actedAt = Date.now()
  }

  /** Must be called before the download of this image is released. */
  release(image: Image): void {
    this.act()
    this.#released.push({ uid: image.metadata.uid ?? '', at: this.#actedAt })
  }

  get started(): number {
    return this.#downloads.size
  }

  get claims(): number {
    return this.#claims.length
  }

  /** Ended attempts, by `outcome reason`. */
  get attempts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { attempt } of this.#ended) {
      const key = `${attempt.outcome} ${attempt.reason}`
      counts[key] = (counts[key] ?? 0) + 1
    }
    return counts
  }

  /**
   * From ticket to slot, summed over all claims. The operator got the slot after the last act before its ledger write was observed, and before its
   * next step, the creation of the DataVolume. The first DataVolume of an image belongs to its first claim, and so on.
   */
  get waits(): Interval {
    const rest = [...this.#downloads.values()]
    return sum(
      this.#claims.map(({ uid, version, at, actedAt }) => {
        const queuedAt =
          this.#queued.findLast((one) => one.uid === uid && isBefore(one.version, version))?.queuedAt ?? 0
        const created = rest.findIndex((one) => one.uid === uid)
        const [download] = created < 0 ? [] : rest.splice(created, 1)
        return { least: actedAt - queuedAt, most: Math.max(at, download?.at ?? at) - queuedAt }
      }),
    )
  }

  /**
   * Durations of successful downloads, summed. A download began after the last act before its slot was observed, and before
   * the image's status showed it. It was over after its release, and before the image's status showed that.
   */
  get durations(): Interval {
    const succeeded = this.#ended.filter(({ attempt }) => attempt.outcome === 'Succeeded')
    return sum(
      succeeded.map(({ uid, at, attempt }) => {
        const claim = this.#claims.findLast((one) => one.uid === uid && one.at <= at)
        const syncing = this.#syncing.get(attempt.dataVolumeUID ?? '') ?? at
        const released = this.#released.findLast((one) => one.uid === uid && one.at <= at)
        return { least: (released?.at ?? 0) - syncing, most: at - (claim?.actedAt ?? 0) }
      }),
    )
  }

  get succeeded(): number {
    return this.#ended.filter(({ attempt }) => attempt.outcome === 'Succeeded').length
  }

  #seeImage(before: Image | undefined, { metadata, status }: Image): void {
    const { uid = '', resourceVersion = '0' } = metadata
    if (status?.queuedAt !== undefined && status.queuedAt !== before?.status?.queuedAt) {
      this.#queued.push({ uid, version: resourceVersion, queuedAt: Date.parse(status.queuedAt) })
    }
    const dataVolume = status?.dataVolumeUID
    if (dataVolume !== undefined && !this.#syncing.has(dataVolume)) this.#syncing.set(dataVolume, Date.now())
    const known = (before?.status?.attempts ?? []).map(identityOf)
    for (const attempt of status?.attempts ?? []) {
      if (!known.includes(identityOf(attempt))) this.#ended.push({ uid, at: Date.now(), attempt })
    }
  }

  #seeDownload({ metadata }: DataVolume): void {
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'VMDiskImage')
    if (owner !== undefined) this.#downloads.set(metadata.uid ?? '', { uid: owner.uid, at: Date.now() })
  }

  #seeLedger({ ledger }: World, version: string): void {
    const holders = ledger?.holders ?? []
    for (const holder of holders) {
      if (this.#holders.has(identityOfClaim(holder))) continue
      this.#claims.push({ uid: holder.uid, at: Date.now(), version, actedAt: this.#actedAt })
    }
    this.#holders = new Set(holders.map(identityOfClaim))
  }
}

function identityOf({ dataVolumeUID, endedAt }: Attempt): string {
  return `${dataVolumeUID} ${endedAt}`
}

function identityOfClaim(holder: object): string {
  const { uid, revision, attempt } = holder as Readonly<Record<string, unknown>>
  return `${uid} ${revision} ${attempt}`
}

function isBefore(version: string, other: string): boolean {
  return compareResourceVersions(version, other) < 0
}

function sum(intervals: readonly Interval[]): Interval {
  const add = (bound: keyof Interval) => intervals.reduce((total, one) => total + one[bound], 0) / 1_000
  return { least: add('least'), most: add('most') }
}
