import { ANNOTATIONS, LABELS, revisionOf, shortHash, type VMDiskImageSpec } from '@open-terrain/constructs'
import type { ResourceType } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, SECRET, STORAGE_CLASS, VOLUME_SNAPSHOT_CLASS } from '../../../operator/kube/resource-types.ts'
import { type DataVolume, type Image, reasonOf } from '../../harness/kinds.ts'
import type { Ends, Rest as KindRest } from '../kind.ts'
import { find } from '../people.ts'
import type { SourceNature } from '../schedule.ts'
import type { World } from '../world.ts'
import { imageEnds } from './image-ends.ts'

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

/** Which images have come to rest where their spec, and what is there of what it names, lets them. */
export class ImageRest implements KindRest {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** What is still going on, for people. */
  restless(): string[] {
    const images = [...this.#world.chronicle.images.values()]
    const restless = images.filter((image) => !this.#isAtRest(image)).map((image) => this.#described(image))
    return [...restless, ...images.flatMap((image) => this.#wrongReferences(image))]
  }

  /** For the comparison of two runs. */
  ends(): Ends {
    return imageEnds(this.#world, (image) => this.#blockedBy(image) !== undefined || image.spec.suspend === true)
  }

  /** The figures are of all kinds together. What people clone for a while comes and goes beside them. */
  #wrongReferences(image: Image): string[] {
    const { metadata, status } = image
    const { kinds, chronicle } = this.#world
    if (reasonOf(image) === 'InvalidSpec') return []
    const clones = [...chronicle.traces.of<DataVolume>(DATA_VOLUME).values()].filter(({ object }) => isClone(object))
    const names = kinds.flatMap((kind) => kind.referencesTo?.(image) ?? []).map(({ title }) => title)
    const told = status?.references
    const isRight = told?.count === names.length && told.names.toSorted().join() === names.toSorted().join()
    if (isRight || clones.length > 0) return []
    return [`image ${metadata.name}: references ${JSON.stringify(told)}, expected ${names.join(', ')}`]
  }

  #described(image: Image): string {
    const { metadata, spec, status } = image
    const { phase, message, attempts, observedGeneration, budget } = status ?? {}
    const ended = attempts?.map(({ number, outcome, reason }) => [number, outcome, reason])
    const about = [metadata.generation, observedGeneration, budget, budgetKeyOf(image), spec]
    return `image ${metadata.name}: ${phase}, ${reasonOf(image)}: ${message}; expected ${JSON.stringify(this.#restsOf(image))}; ${JSON.stringify(about)}; attempts ${JSON.stringify(ended)}`
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
    const isOurs = image.metadata.labels?.[LABELS.createdBy] !== undefined
    const isUnreferenced = isOurs && this.#world.kinds.every((kind) => (kind.referencesTo?.(image) ?? []).length === 0)
    if (isUnreferenced) ends.push({ phase: 'Queued', reasons: ['Unreferenced'] }, ENDS[natureOf(spec)])
    if (blocked !== undefined) return [{ phase: 'Queued', reasons: [blocked] }, ...ends, ...this.#snapshotRests(image)]
    return isUnreferenced ? ends : [ENDS[natureOf(spec)]]
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
    return find(this.#world, type, namespace === undefined ? { name } : { namespace, name }) !== undefined
  }
}

/** One that is under way, by people. */
function isClone({ spec: { source = {} }, status, metadata }: DataVolume): boolean {
  const isOfPeople = (metadata.ownerReferences ?? []).length === 0
  return isOfPeople && status?.phase !== 'Succeeded' && ('snapshot' in source || 'pvc' in source)
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
