import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { revisionOf, shortHash, type VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import type { ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../../operator/kube/resource-types.ts'
import { type DataVolume, type Image, reasonOf } from '../../harness/kinds.ts'
import type { Ends, Rest as KindRest } from '../kind.ts'
import { find } from '../people.ts'
import type { SourceNature } from '../schedule.ts'
import type { World } from '../world.ts'
import { imageEnds } from './image-ends.ts'

/** A state in which an image may be at rest once all disturbances are over. */
interface Rest {
  readonly phase: string
  readonly reasons: readonly string[]
}

/** How an image without the artifact that its spec asks for may end. */
const ENDS: Readonly<Record<SourceNature, readonly Rest[]>> = {
  good: [],
  blank: [],
  missing: [{ phase: 'Failed', reasons: ['NotFound'] }],
  forbidden: [{ phase: 'Failed', reasons: ['AccessDenied'] }],
  broken: [{ phase: 'Failed', reasons: ['RetryLimitExceeded'] }],
}

/** Finds the images that are not at rest in a state that their spec, and the objects that it names, allow. */
export class ImageRest implements KindRest {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Returns what is not at rest, for people. */
  restless(): string[] {
    const images = [...this.#world.chronicle.images.values()]
    const restless = images.filter((image) => !this.#isAtRest(image)).map((image) => this.#described(image))
    return [...restless, ...images.flatMap((image) => this.#wrongReferences(image))]
  }

  /** For the comparison of two runs. */
  ends(): Ends {
    return imageEnds(this.#world, (image) => this.#blockedBy(image) !== undefined || image.spec.suspend === true)
  }

  /** References of all kinds are counted together. Clones by people come and go besides: while an image has some, its count is not checked. */
  #wrongReferences(image: Image): string[] {
    const { metadata, status } = image
    const { kinds, chronicle } = this.#world
    if (reasonOf(image) === 'InvalidSpec') return []
    const clones = [...chronicle.traces.of<DataVolume>(DATA_VOLUME).values()].filter(({ object }) =>
      isCloneOf(image, object),
    )
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

  #restsOf(image: Image): readonly Rest[] {
    const { status } = image
    const spec = image.spec as VMDiskImageSpec
    if (spec.diskSize === 'huge') return [{ phase: 'Failed', reasons: ['InvalidSpec'] }]
    const isSynced = status?.artifact?.revision === revisionOfImage(image)
    if (isSynced) return [{ phase: 'Succeeded', reasons: [this.#reasonOfSynced(image)] }, ...this.#snapshotRests(image)]
    if (spec.suspend === true) return [{ phase: 'Queued', reasons: ['Suspended'] }, ...this.#snapshotRests(image)]
    const blocked = this.#blockedBy(image)
    // An attempt that ran when an object that it needs was deleted may have used up the budget.
    const isUsedUp = status?.attempts?.at(-1)?.outcome === 'Failed'
    const ends: Rest[] = isUsedUp ? [{ phase: 'Failed', reasons: ['RetryLimitExceeded'] }] : []
    const isOurs = image.metadata.labels?.[LABELS.createdBy] !== undefined
    const isUnreferenced = isOurs && this.#world.kinds.every((kind) => (kind.referencesTo?.(image) ?? []).length === 0)
    if (isUnreferenced) ends.push({ phase: 'Queued', reasons: ['Unreferenced'] }, ...ENDS[natureOf(spec)])
    if (blocked !== undefined) return [{ phase: 'Queued', reasons: [blocked] }, ...ends, ...this.#snapshotRests(image)]
    return isUnreferenced ? ends : ENDS[natureOf(spec)]
  }

  /** Somebody may have the name of its alias. A class that was added or changed after its volume was gone takes effect with the next download. */
  #reasonOfSynced({ metadata: { namespace = '', name, uid }, spec: { snapshotClass }, status }: Image): string {
    const alias = find(this.#world, DATA_SOURCE, { namespace, name })
    if (alias !== undefined && controllerOf(alias)?.uid !== uid) return 'NameConflict'
    const { kind, snapshotClass: taken } = status?.artifact ?? {}
    const isOfClass = snapshotClass === undefined || snapshotClass === taken
    return kind === VOLUME_SNAPSHOT.kind && !isOfClass ? 'SourceVolumeLost' : 'Synced'
  }

  /** The state of an image that is downloaded, but whose snapshot class is missing. */
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

/** Reports whether it is an unfinished clone made by people, of any artifact that the image has or had. */
function isCloneOf({ metadata: image }: Image, { spec: { source = {} }, status, metadata }: DataVolume): boolean {
  const isOfPeople = (metadata.ownerReferences ?? []).length === 0
  const from = (source['snapshot'] ?? source['pvc']) as
    | { readonly namespace: string; readonly name: string }
    | undefined
  const isFromIt = from?.namespace === image.namespace && from?.name.startsWith(`${image.name}-`) === true
  return isOfPeople && status?.phase !== 'Succeeded' && isFromIt
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
