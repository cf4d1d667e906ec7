import { ANNOTATIONS, revisionOf, shortHash, type VMDiskImageSpec } from '@open-terrain/constructs'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { SECRET, STORAGE_CLASS, VOLUME_SNAPSHOT_CLASS } from '../../operator/kube/resource-types.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { type Image, reasonOf } from '../harness/kinds.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import type { SourceNature } from './schedule.ts'
import type { World } from './world.ts'

/** Where an image may rest, once nothing disturbs anybody any more. */
interface Rest {
  readonly phase: string
  readonly reasons: readonly string[]
}

const SYNCED: Rest = { phase: 'Succeeded', reasons: ['Synced', 'NameConflict', 'SourceVolumeLost'] }
const ENDS: Readonly<Record<SourceNature, Rest>> = {
  good: SYNCED,
  blank: SYNCED,
  missing: { phase: 'Failed', reasons: ['NotFound'] },
  forbidden: { phase: 'Failed', reasons: ['AccessDenied'] },
  broken: { phase: 'Failed', reasons: ['RetryLimitExceeded'] },
}

/** Follows which images have come to rest where their spec, and what is there of what it names, lets them. */
export class Settlement {
  readonly #world: World
  readonly #restless = new Set<string>()

  constructor(world: World) {
    this.#world = world
    world.onCommit((commit) => this.#onCommit(commit))
  }

  /** Looks at all images again: what they name may have come or gone. */
  review(): void {
    this.#restless.clear()
    for (const image of this.#world.chronicle.images.values()) this.#look(image)
  }

  get isReached(): boolean {
    return this.#restless.size === 0 && (this.#world.chronicle.ledger?.holders.length ?? 0) === 0
  }

  /** What is still going on, for people. */
  describe(): string {
    const { chronicle } = this.#world
    const lines = [...this.#restless].map((uid) => {
      const image = chronicle.images.get(uid)
      const { phase, message, attempts } = image?.status ?? {}
      const wanted = image === undefined ? undefined : this.#restsOf(image)
      return `${image?.metadata.name}: ${phase}, ${image && reasonOf(image)}: ${message}; expected ${JSON.stringify(wanted)}; ${JSON.stringify([image?.metadata.generation, image?.status?.observedGeneration, image?.status?.budget, image && budgetKeyOf(image), image?.spec])}; attempts ${JSON.stringify(attempts?.map(({ number, outcome, reason }) => [number, outcome, reason]))}`
    })
    return `${lines.join('\n')}\nledger: ${JSON.stringify(chronicle.ledger)}\n${this.#world.replicas.map((replica) => replica.describe()).join('\n')}`
  }

  /** For the comparison of two runs. */
  outcome(): Outcome {
    return outcomeOf(this.#world, (image) => this.#blockedBy(image) !== undefined || image.spec.suspend === true)
  }

  #onCommit({ resource, type, object }: Commit): void {
    if (resource.kind !== 'VMDiskImage') return
    if (type === 'DELETED') this.#restless.delete(object.metadata.uid ?? '')
    else this.#look(object as Image)
  }

  #look(image: Image): void {
    const { uid = '' } = image.metadata
    if (this.#isAtRest(image)) this.#restless.delete(uid)
    else this.#restless.add(uid)
  }

  #isAtRest(image: Image): boolean {
    const { metadata, status, spec } = image
    if (metadata.deletionTimestamp !== undefined || status === undefined) return false
    if (status.observedGeneration !== metadata.generation) return false
    const rests = this.#restsOf(image)
    const reason = reasonOf(image) ?? ''
    const isRest = rests.some(({ phase, reasons }) => phase === status.phase && reasons.includes(reason))
    if (!isRest) return false
    if (reason === 'InvalidSpec') return true
    const goesBySelf = spec.reclaimPolicy === 'Delete' && spec.unreferencedTTL !== '0s'
    return !goesBySelf && status.budget?.key === budgetKeyOf(image)
  }

  #restsOf(image: Image): Rest[] {
    const { status } = image
    const spec = image.spec as VMDiskImageSpec
    if (spec.diskSize === 'huge') return [{ phase: 'Failed', reasons: ['InvalidSpec'] }]
    const isSynced = status?.artifact?.revision === revisionOfImage(image)
    if (isSynced) return [SYNCED, ...this.#snapshotRests(image)]
    if (spec.suspend === true) return [{ phase: 'Queued', reasons: ['Suspended'] }, ...this.#snapshotRests(image)]
    const blocked = this.#blockedBy(image)
    // An attempt that ran when what it needs went may have used the budget up.
    const isUsedUp = status?.attempts?.at(-1)?.outcome === 'Failed'
    const ends: Rest[] = isUsedUp ? [{ phase: 'Failed', reasons: ['RetryLimitExceeded'] }] : []
    if (blocked !== undefined) return [{ phase: 'Queued', reasons: [blocked] }, ...ends, ...this.#snapshotRests(image)]
    return [ENDS[natureOf(spec)]]
  }

  /** Downloaded, but its snapshot class went meanwhile. */
  #snapshotRests({ spec }: Image): Rest[] {
    const isMissing = spec.snapshotClass !== undefined && !this.#exists(VOLUME_SNAPSHOT_CLASS, spec.snapshotClass)
    return isMissing ? [{ phase: 'Snapshotting', reasons: ['SnapshotClassMissing'] }] : []
  }

  #blockedBy({ spec, metadata }: Image): string | undefined {
    const { secretRef, storageClass, snapshotClass } = spec
    if (secretRef !== undefined && !this.#exists(SECRET, secretRef, metadata.namespace)) return 'SecretMissing'
    if (storageClass !== undefined && !this.#exists(STORAGE_CLASS, storageClass)) return 'StorageClassMissing'
    if (snapshotClass !== undefined && !this.#exists(VOLUME_SNAPSHOT_CLASS, snapshotClass))
      return 'SnapshotClassMissing'
    return undefined
  }

  #exists(type: ResourceType, name: string, namespace?: string): boolean {
    try {
      this.#world.cluster.admin.get<KubeObject>(type, namespace === undefined ? { name } : { namespace, name })
      return true
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      return false
    }
  }
}

function revisionOfImage({ spec, metadata }: Image): string {
  return revisionOf(spec as VMDiskImageSpec, metadata.annotations?.[ANNOTATIONS.syncRequestedAt])
}

function budgetKeyOf(image: Image): string {
  const { secretRef, certConfigMap } = image.spec
  const retry = image.metadata.annotations?.[ANNOTATIONS.retryRequestedAt]
  return shortHash([revisionOfImage(image), secretRef, certConfigMap, retry])
}

function natureOf({ url, sourceType }: VMDiskImageSpec): SourceNature {
  if (sourceType === 'blank' || url === undefined) return 'blank'
  return new URL(url).pathname.split('/')[1] as SourceNature
}
