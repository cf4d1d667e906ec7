import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncStatus,
  dataSyncImageName,
  type ImageTriple,
  shortHash,
} from '@open-terrain/constructs/operator'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import { DATA_SYNC, type DataSync, type Image, reasonOf } from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import { wrongConditions } from '../conditions.ts'
import type { Ends, Rest } from '../kind.ts'
import type { World } from '../world.ts'
import type { DataSyncPeople } from './data-sync-people.ts'
import { fieldsOf, isFor, plainName, textOf, tripleIn, triplesOf, wishOf } from './vms.ts'

/** The end of a name that could be read in two ways. */
const HASHED = /-[0-9a-f]{8}$/

type ExpectedImage = Pick<DataSyncImage, 'vm' | 'phase' | 'reason'> & { readonly name: string | undefined }

/** The status that each DataSync must have once all disturbances are over, as it follows from all existing DataSyncs and images. */
export class DataSyncRest implements Rest {
  readonly #world: World
  readonly #people: DataSyncPeople

  constructor(world: World, people: DataSyncPeople) {
    this.#world = world
    this.#people = people
  }

  restless(): string[] {
    return [...this.#all.flatMap((one) => this.#wrong(one)), ...this.#overdue()]
  }

  ends(): Ends {
    const ends = this.#all.map((one) => {
      const { phase, reason, counts, images } = one.status ?? {}
      return [`DataSync ${keyOf(one.metadata)}`, { phase, reason, counts, images }, this.#isContested(one)] as const
    })
    const decided = ends.filter(([, , isContested]) => !isContested)
    return {
      whole: Object.fromEntries(ends.map(([title, end]) => [title, end])),
      decided: Object.fromEntries(decided.map(([title, end]) => [title, end])),
    }
  }

  /**
   * Reports whether the end of the image depends on timing. An image that DataSyncs disagree about stays as the first of them made it. One that none
   * of them wants any more may never have been created. A request from before an image was deleted is not repeated.
   */
  isUndecided(image: Image): boolean {
    const { namespace = '', name, annotations = {} } = image.metadata
    if (this.#people.contested.has(`${namespace}/${name}`)) return true
    const triple = tripleIn(image)
    if (triple === undefined) return false
    const wishes = this.#wishesFor(namespace, textOf(triple))
    return wishes.size !== 1 || annotations['pelotech.ot/requests-reached'] !== undefined
  }

  get #all(): DataSync[] {
    return [...this.#world.chronicle.traces.of<DataSync>(DATA_SYNC).values()].map(({ object }) => object)
  }

  #isContested({ metadata: { namespace = '' }, spec }: DataSync): boolean {
    return triplesOf(spec).some((triple) => {
      const isDisputed = this.#wishesFor(namespace, textOf(triple)).size > 1
      return isDisputed || this.#people.contested.has(`${namespace}/${dataSyncImageName(triple)}`)
    })
  }

  #wishesFor(namespace: string, triple: string): ReadonlySet<string> {
    const wishes = this.#all.flatMap(({ metadata, spec }) => {
      if (metadata.namespace !== namespace) return []
      const found = triplesOf(spec).find((one) => textOf(one) === triple)
      return found === undefined ? [] : [wishOf(spec, found.vm)]
    })
    return new Set(wishes)
  }

  #isDisputed(namespace: string, triple: ImageTriple): boolean {
    return this.#wishesFor(namespace, textOf(triple)).size > 1
  }

  /** Reports whether a DataSync wants something of an image that it may not write. */
  #isStuck(one: DataSync, image: Image, triple: ImageTriple, isAsWanted: boolean): boolean {
    return !this.#isWritable(image, triple) && (!isAsWanted || isAsking(one, image))
  }

  /** Reports whether a DataSync that wants the image had it created. */
  #isWritable({ metadata: { namespace, annotations } }: Image, triple: ImageTriple): boolean {
    const mark = annotations?.[ANNOTATIONS.creator] ?? ''
    const sharers = this.#all.filter(({ metadata, spec }) => {
      return metadata.namespace === namespace && triplesOf(spec).some((each) => textOf(each) === textOf(triple))
    })
    return sharers.some(({ metadata: { name, uid } }) => mark.startsWith(`DataSync/${namespace}/${name}/${uid} `))
  }

  #imageOf(namespace: string, triple: string): Image | undefined {
    return this.#images(namespace).find((image) => {
      const its = tripleIn(image)
      return its !== undefined && textOf(its) === triple
    })
  }

  #images(namespace: string): Image[] {
    return [...this.#world.chronicle.images.values()].filter(({ metadata }) => metadata.namespace === namespace)
  }

  #wrong(one: DataSync): string[] {
    const { metadata, status = {}, spec } = one
    const title = `DataSync ${keyOf(metadata)}`
    if (isDeletion(one)) return [`${title} is being deleted`]
    if (status.observedGeneration !== metadata.generation) return [`${title} does not tell of its spec yet`]
    const wanted = spec.vms.map(({ name }) => this.#expectedOf(one, name))
    const told = (status.images ?? []).map(({ vm, name, phase, reason }) => ({ vm, name, phase, reason }))
    const names = this.#wrongNames(one, told)
    const shown = wanted.map((image, at) => ({ ...image, name: image.name ?? told[at]?.name }))
    const expected = { ...figuresOf(shown, this.#percentOf(one)), images: shown }
    const { phase, counts, ready, progress } = status
    const actual = { phase, counts, ready, progress, images: told }
    const isAsExpected = isDeepStrictEqual(actual, expected)
    const said = isAsExpected ? [] : [`${title} says ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`]
    return [...names, ...said, ...this.#wrongConditions(one, wanted)]
  }

  /** Checks that the image of a vm exists only once, under the name that the design gives it. */
  #wrongNames({ metadata: { namespace = '' }, spec }: DataSync, told: readonly ExpectedImage[]): string[] {
    return triplesOf(spec).flatMap((triple, at) => {
      const its = this.#images(namespace).filter((image) => isFor(triple, image))
      const plain = plainName(triple)
      const name = its[0]?.metadata.name ?? told[at]?.name ?? ''
      const isRight = plain === undefined ? HASHED.test(name) : name === plain
      const text = its.map(({ metadata }) => metadata.name).join(', ')
      return isRight && its.length <= 1 ? [] : [`vm ${textOf(triple)} has the images ${text}, and ${name} is told`]
    })
  }

  #wrongConditions(one: DataSync, images: readonly ExpectedImage[]): string[] {
    const isReady = images.every(({ phase }) => phase === 'Succeeded')
    const isUnderWay = images.some(({ phase }) => phase === 'Queued' || phase === 'Syncing')
    const wanted = { Ready: isReady, Settled: !isUnderWay, Reconciling: isUnderWay, Stalled: !isUnderWay && !isReady }
    return wrongConditions(one, wanted).map((wrong) => `DataSync ${keyOf(one.metadata)}: ${wrong}`)
  }

  /** Returns what the status must show for the image of a vm. */
  #expectedOf(one: DataSync, vm: string): ExpectedImage {
    const { spec, status } = one
    const { namespace = '' } = one.metadata
    const triple = triplesOf(spec).find((each) => each.vm === vm)
    if (triple === undefined) throw new Error(`there is no vm ${vm}`)
    const image = this.#imageOf(namespace, textOf(triple))
    // A hash cannot be predicted, so the name is taken from the status.
    const name = image?.metadata.name ?? plainName(triple) ?? status?.images?.find((each) => each.vm === vm)?.name
    const is = (phase: DataSyncPhase, reason: string): ExpectedImage => ({ vm, name, phase, reason })
    const taken = this.#images(namespace).find(({ metadata }) => metadata.name === name)
    if (taken !== undefined && taken !== image) return is('Failed', 'NameConflict')
    const isAsWanted = image !== undefined && fieldsOf(image.spec) === wishOf(spec, vm)
    if (!isAsWanted && this.#isDisputed(namespace, triple)) return is('Failed', 'NameConflict')
    if (image === undefined) return is('Queued', 'ImageMissing')
    if (isDeletion(image)) return is(phaseOfDeleted(image), 'ImageTerminating')
    if (this.#isStuck(one, image, triple, isAsWanted)) return is('Failed', 'NameConflict')
    if (!isAsWanted) return is('Queued', 'ImageChanged')
    const { phase } = image.status ?? {}
    return is(phase === 'Snapshotting' ? 'Syncing' : (phase ?? 'Queued'), reasonOf(image) ?? '')
  }

  #percentOf({ metadata: { namespace = '' } }: DataSync): (image: ExpectedImage) => number {
    return ({ name, phase, reason }) => {
      const image = this.#images(namespace).find(({ metadata }) => metadata.name === name)
      if (phase === 'Succeeded') return 100
      if (phase !== 'Syncing' || reason === 'NameConflict') return 0
      return image?.status?.phase === 'Snapshotting' ? 100 : Number.parseFloat(image?.status?.progress ?? '0')
    }
  }

  /** Returns images that nobody references any more, under a policy that deletes them. */
  #overdue(): string[] {
    const { policy, chronicle, kinds } = this.#world
    const { unreferencedTTL } = policy.data
    // With 0s, an image is deleted when its last reference goes. A reference that came and went unobserved does not count.
    if (unreferencedTTL === undefined || unreferencedTTL === '0s') return []
    return [...chronicle.images.values()].flatMap((image) => {
      const isWanted = kinds.some((kind) => (kind.referencesTo?.(image) ?? []).length > 0)
      const isOurs = image.metadata.labels?.['pelotech.ot/created-by'] === DATA_SYNC.kind
      return !isOurs || isWanted ? [] : [`image ${keyOf(image.metadata)} is still there, and nobody wants it`]
    })
  }
}

/** Reports whether a DataSync makes a request that has not reached an image. */
function isAsking({ metadata }: DataSync, image: Image): boolean {
  const reached = image.metadata.annotations?.[ANNOTATIONS.requestsReached] ?? ''
  return [ANNOTATIONS.syncRequestedAt, ANNOTATIONS.retryRequestedAt].some((key) => {
    const value = metadata.annotations?.[key]
    return value !== undefined && !reached.includes(shortHash([key, value]))
  })
}

/** An image whose deletion waits for its users waits for the DataSync too. */
function phaseOfDeleted({ status }: Image): DataSyncPhase {
  const isBlocked = status?.conditions?.some(
    ({ type, status: holds }) => type === 'DeletionBlocked' && holds === 'True',
  )
  return isBlocked === true ? 'Failed' : 'Queued'
}

const ORDER = ['Syncing', 'Queued', 'Failed'] as const

/** Returns what the status must show for all its images together. */
export function figuresOf(
  images: readonly Pick<ExpectedImage, 'phase'>[],
  percentOf: (image: never) => number,
): Pick<DataSyncStatus, 'phase' | 'counts' | 'ready' | 'progress'> {
  const count = (wanted: DataSyncPhase) => images.filter(({ phase }) => phase === wanted).length
  const percent = images.reduce((sum, image) => sum + percentOf(image as never), 0) / images.length
  return {
    phase: ORDER.find((one) => count(one) > 0) ?? 'Succeeded',
    counts: {
      total: images.length,
      succeeded: count('Succeeded'),
      syncing: count('Syncing'),
      queued: count('Queued'),
      failed: count('Failed'),
    },
    ready: `${count('Succeeded')}/${images.length}`,
    progress: `${percent.toFixed(1)}%`,
  }
}
