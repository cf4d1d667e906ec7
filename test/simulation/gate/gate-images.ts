import { childName } from '@open-terrain/constructs/operator'
import type { Start } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { IMAGE, type MemoryCluster, type VirtualTime } from '../../../sandbox/memory-cluster/index.ts'
import type { GateStory, Range } from './gate-story.ts'

export const IMAGE_NAMESPACE = 'team'
/** A fickle wish is withdrawn within this time. */
const FICKLE_MS: Range = { least: 0, most: 3_000 }
/**
 * A finished DataVolume stays at least this long. A create of the same claim that a former leader sent still finds its name taken, although the slot
 * was freed when the download succeeded.
 */
const KEPT_MS: Range = { least: 15_000, most: 20_000 }
/** Status and finalizer are written within this time. */
const ENQUEUED_MS: Range = { least: 1, most: 400 }

/** What the operator can know about an image: the object, and what its plan would request from the admission. */
export interface ImageUpdate {
  readonly image: ImageView
  readonly start: Start | undefined
}

interface GateImage {
  readonly uid: string
  readonly name: string
  state: 'resting' | 'waiting' | 'syncing'
  /** Uid of the DataVolume that downloads for it. */
  dataVolume: string | undefined
  revision: number
  attempt: number
  generation: number
  /** Counts wishes, so that a timer for one of them does not affect the next. */
  wishes: number
  update: ImageUpdate
}

export interface GateImagesOptions {
  readonly story: GateStory
  readonly time: VirtualTime
  readonly cluster: MemoryCluster
  readonly random: () => number
  readonly onChange: (update: ImageUpdate) => void
  /** Called for a download that its image no longer wants. */
  readonly onUnwanted: (dataVolumeUid: string) => void
}

/**
 * What the images really want: one download after another, each with a new ticket. A retry increments the attempt, and a success is followed by
 * another revision.
 */
export class GateImages {
  readonly #options: GateImagesOptions
  readonly #images = new Map<string, GateImage>()
  #ticket = 1_000
  #isWindingUp = false

  constructor(options: GateImagesOptions) {
    this.#options = options
    for (let number = 0; number < options.story.images; number += 1) this.#add(`image-${number}`)
  }

  /** Returns the current state of all images, ordered by resource version, as a cache expects it. */
  all(): ImageUpdate[] {
    const versionOf = ({ image }: ImageUpdate) => Number(image.metadata.resourceVersion)
    return [...this.#images.values()].map(({ update }) => update).toSorted((a, b) => versionOf(a) - versionOf(b))
  }

  begin(): void {
    const isRush = this.#options.random() < 0.5
    for (const image of this.#images.values()) this.#later(isRush ? AT_ONCE : SOON, () => this.#wish(image, true))
  }

  /** From now on images want nothing new. The wishes that exist are fulfilled. */
  windUp(): void {
    this.#isWindingUp = true
  }

  get isWindingUp(): boolean {
    return this.#isWindingUp
  }

  get isAtRest(): boolean {
    return [...this.#images.values()].every(({ state }) => state === 'resting')
  }

  describe(): string {
    const busy = [...this.#images.values()].filter(({ state }) => state !== 'resting')
    return busy
      .map(({ name, state, revision, attempt }) => `${name} ${state}, revision ${revision}, attempt ${attempt}`)
      .join('\n')
  }

  /** Records that a DataVolume of this image was created. */
  created(uid: string, dataVolumeUid: string, revision: string, attempt: number): void {
    const image = this.#images.get(uid)
    if (image === undefined) return
    const isWanted = image.state === 'waiting' && revisionText(image.revision) === revision && image.attempt === attempt
    if (!isWanted) {
      this.#options.onUnwanted(dataVolumeUid)
      return
    }
    image.state = 'syncing'
    image.dataVolume = dataVolumeUid
    this.#tell(image, undefined)
  }

  succeeded(uid: string, dataVolumeUid: string): void {
    const image = this.#downloadingBy(uid, dataVolumeUid)
    if (image === undefined) return
    this.#rest(image)
    image.revision += 1
    image.attempt = 1
    this.#later(KEPT_MS, () => this.#options.onUnwanted(dataVolumeUid))
    this.#wishLater(image)
  }

  /** Records that the attempt has failed: its DataVolume is about to be torn down. */
  failed(uid: string, dataVolumeUid: string): void {
    const image = this.#downloadingBy(uid, dataVolumeUid)
    if (image === undefined || this.#options.random() >= this.#options.story.shares.hasty) return
    this.#retry(image)
  }

  gone(uid: string, dataVolumeUid: string): void {
    const image = this.#downloadingBy(uid, dataVolumeUid)
    if (image !== undefined) this.#retry(image)
  }

  #retry(image: GateImage): void {
    this.#rest(image)
    image.attempt += 1
    this.#wishLater(image, true)
  }

  #downloadingBy(uid: string, dataVolumeUid: string): GateImage | undefined {
    const image = this.#images.get(uid)
    return image?.state === 'syncing' && image.dataVolume === dataVolumeUid ? image : undefined
  }

  #add(name: string): void {
    const { cluster } = this.#options
    const made = cluster.admin.create<KubeObject>(IMAGE, {
      apiVersion: `${IMAGE.group}/${IMAGE.version}`,
      kind: IMAGE.kind,
      metadata: { namespace: IMAGE_NAMESPACE, name },
    })
    const uid = made.metadata.uid ?? ''
    const image: Omit<GateImage, 'update'> = {
      uid,
      name,
      state: 'resting',
      dataVolume: undefined,
      revision: 1,
      attempt: 1,
      generation: 1,
      wishes: 0,
    }
    this.#images.set(uid, { ...image, update: this.#updateOf(image, undefined) })
  }

  #rest(image: GateImage): void {
    image.state = 'resting'
    image.dataVolume = undefined
  }

  #wishLater(image: GateImage, isRetry = false): void {
    const { story } = this.#options
    this.#later(story.restMs, () => this.#wish(image, isRetry))
  }

  /** Queues the image with a new ticket. The ticket may not be written yet, and the wish may be withdrawn soon. */
  #wish(image: GateImage, isOwed: boolean): void {
    const { story, random } = this.#options
    if (image.state !== 'resting' || (this.#isWindingUp && !isOwed)) return
    image.state = 'waiting'
    image.wishes += 1
    this.#ticket += 1
    const ticket = String(this.#ticket)
    const { wishes } = image
    const isEarly = random() < story.shares.early
    this.#tell(image, this.#startOf(image, ticket, !isEarly))
    const isStill = () => image.wishes === wishes && image.state === 'waiting'
    if (isEarly) this.#later(ENQUEUED_MS, () => isStill() && this.#tell(image, this.#startOf(image, ticket, true)))
    if (random() < story.shares.fickle) this.#later(FICKLE_MS, () => image.wishes === wishes && this.#takeBack(image))
  }

  #takeBack(image: GateImage): void {
    if (this.#isWindingUp || image.state === 'resting') return
    const { dataVolume } = image
    this.#rest(image)
    image.generation += 1
    image.revision += 1
    image.attempt = 1
    this.#tell(image, undefined)
    if (dataVolume !== undefined) this.#options.onUnwanted(dataVolume)
    this.#wishLater(image)
  }

  #tell(image: GateImage, start: Start | undefined): void {
    image.update = this.#updateOf(image, start)
    this.#options.onChange(image.update)
  }

  #updateOf({ uid, name, generation, wishes }: Omit<GateImage, 'update'>, start: Start | undefined): ImageUpdate {
    // Each change has a resource version of its own, which is later than the ticket.
    this.#ticket += 1
    const resourceVersion = String(this.#ticket)
    return {
      image: {
        apiVersion: `${IMAGE.group}/${IMAGE.version}`,
        kind: IMAGE.kind,
        metadata: { namespace: IMAGE_NAMESPACE, name, uid, generation, resourceVersion },
        spec: undefined,
        status: wishes === 0 ? {} : { ticket: resourceVersion },
      },
      start,
    }
  }

  #startOf({ uid, name, generation, revision, attempt }: GateImage, ticket: string, admissible: boolean): Start {
    const text = revisionText(revision)
    const key = { namespace: IMAGE_NAMESPACE, name }
    return {
      ...key,
      key: keyOf(key),
      uid,
      generation,
      ticket,
      revision: text,
      attempt,
      admissible,
      target: { ...TARGET, revision: text, volumeName: childName(name, text), snapshotName: childName(name, text) },
    }
  }

  #later({ least, most }: Range, work: () => void): void {
    const { time, random } = this.#options
    time.schedule(least + (most - least) * random(), work)
  }
}

const AT_ONCE: Range = { least: 200, most: 210 }
const SOON: Range = { least: 200, most: 10_000 }

const TARGET: Omit<Start['target'], 'revision' | 'volumeName' | 'snapshotName'> = {
  defaults: {},
  specName: undefined,
  url: 'https://images.example.com/a.qcow2',
  sourceType: 'http',
  diskSize: '1Gi',
  storageClass: 'fast',
  snapshotClass: undefined,
  secretRef: undefined,
  certConfigMap: undefined,
  checksum: undefined,
  budgetKey: 'budget',
}

function revisionText(revision: number): string {
  return revision.toString(16).padStart(8, '0')
}
