import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { ImageTriple } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, type DataSync, type Image } from '../../harness/kinds.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { FIELDS, fieldsOf, textOf, tripleIn, triplesOf, wishOf } from './vms.ts'

const REQUESTS: ReadonlySet<string> = new Set([
  ANNOTATIONS.syncRequestedAt,
  ANNOTATIONS.retryRequestedAt,
  ANNOTATIONS.requestsReached,
  ANNOTATIONS.creator,
])

/** For one image, by the text of the wish: which DataSyncs want it, and when that set last became empty or stopped being empty. */
type Wanted = Map<string, { by: Set<string>; changedAtMs: number }>

/**
 * Invariant 6, for images of DataSyncs: an image is created and its spec changed only as its DataSyncs want it, and never while they disagree.
 * What starts work in it is written only while the DataSync that had it created wants it. Everything else in it stays as people wrote it.
 */
export class Wishes extends WitnessOracle<World> {
  /** By namespace and the text of the triple that names a vm. */
  readonly #wanted = new Map<string, Wanted>()
  /** By image, and uid of a DataSync: whether it wants the image, and since when. */
  readonly #sharers = new Map<string, Map<string, { readonly isWanted: boolean; readonly atMs: number }>>()

  onCommit(commit: Commit): void {
    const { resource, object, before, actor } = commit
    if (resource.kind === DATA_SYNC.kind) {
      const [had, has] = [wishesIn(before), wishesIn(commit.type === 'DELETED' ? undefined : object)]
      for (const [image, wish] of had) if (has.get(image) !== wish) this.#note(object, image, wish, false)
      for (const [image, wish] of has) if (had.get(image) !== wish) this.#note(object, image, wish, true)
    }
    if (resource.kind === 'VMDiskImage' && isOperator(actor) && commit.type !== 'DELETED') this.#checkImage(commit)
  }

  /** Reports whether a DataSync may be the reason for this write. */
  permits({ resource, type, object, before }: Commit): boolean {
    if (resource.kind === DATA_SYNC.kind)
      return type === 'MODIFIED' && isSame(theirs(object, true), theirs(before, true))
    if (resource.kind !== 'VMDiskImage' || tripleIn(object) === undefined || type === 'DELETED') return false
    if (type === 'ADDED') return object.metadata.labels?.[LABELS.createdBy] === DATA_SYNC.kind
    const isSpecTheirs = isSame((object as Image).spec, (before as Image).spec)
    return isSame(theirs(object, isSpecTheirs), theirs(before, isSpecTheirs))
  }

  /** @param image namespace and triple, as text */
  #note({ metadata: { uid = '' } }: KubeObject, image: string, wish: string, isWanted: boolean): void {
    const { nowMs } = this.witness.chronicle
    const sharers = this.#sharers.get(image) ?? new Map()
    this.#sharers.set(image, sharers.set(uid, { isWanted, atMs: nowMs }))
    const wanted: Wanted = this.#wanted.get(image) ?? new Map()
    this.#wanted.set(image, wanted)
    const entry = wanted.get(wish) ?? { by: new Set<string>(), changedAtMs: nowMs }
    wanted.set(wish, entry)
    const had = entry.by.size > 0
    if (isWanted) entry.by.add(uid)
    else entry.by.delete(uid)
    if (had !== entry.by.size > 0) entry.changedAtMs = nowMs
  }

  #checkSpec({ object, before, type, revision }: Commit): void {
    const triple = tripleIn(object)
    const spec = fieldsOf((object as Image).spec)
    if (triple === undefined || (before !== undefined && fieldsOf((before as Image).spec) === spec)) return
    const wanted = this.#wanted.get(imageOf(object, triple)) ?? new Map()
    const wrong = this.#wrong(spec, wanted)
    if (wrong !== undefined)
      this.witness.report(6, `revision ${revision}: image ${object.metadata.name} was ${type}, and ${wrong}`)
  }

  #checkImage(commit: Commit): void {
    const isForTemplate = commit.object.metadata.labels?.[LABELS.createdBy] !== DATA_SYNC.kind
    if (isForTemplate && this.witness.kinds.some((kind) => !kind.oracles?.includes(this) && kind.permits(commit)))
      return
    this.#checkSpec(commit)
    if (commit.before !== undefined) this.#checkCreator(commit)
  }

  #checkCreator({ object, before, revision }: Commit): void {
    const triple = tripleIn(object)
    const work = (image: KubeObject | undefined) => [
      fieldsOf((image as Image).spec),
      [...REQUESTS].map((key) => image?.metadata.annotations?.[key]),
    ]
    if (triple === undefined || isSame(work(object), work(before))) return
    const { chronicle, disturbances } = this.witness
    const uid = /\/([^/ ]+)(?: generation|$)/.exec(before?.metadata.annotations?.[ANNOTATIONS.creator] ?? '')?.[1] ?? ''
    const creator = this.#sharers.get(imageOf(object, triple))?.get(uid)
    if (creator?.isWanted === true) return
    if (creator !== undefined && !mustKnow(disturbances, chronicle.nowMs - creator.atMs)) return
    this.witness.report(
      6,
      `revision ${revision}: image ${object.metadata.name} was written, and no DataSync that wants it had it created`,
    )
  }

  #wrong(spec: string, wanted: Wanted): string | undefined {
    const { chronicle, disturbances } = this.witness
    const isKnown = (changedAtMs: number) => mustKnow(disturbances, chronicle.nowMs - changedAtMs)
    const wish = wanted.get(spec)
    if (wish === undefined) return `no DataSync ever wanted ${spec}`
    if (wish.by.size === 0 && isKnown(wish.changedAtMs)) return 'no DataSync wants it so any more'
    for (const [other, { by, changedAtMs }] of wanted)
      if (other !== spec && by.size > 0 && isKnown(changedAtMs)) return `another DataSync wants ${other}`
    return undefined
  }
}

function imageOf({ metadata: { namespace } }: KubeObject, triple: ImageTriple): string {
  return `${namespace} ${textOf(triple)}`
}

/** Returns what a DataSync wants, by image. One that is being deleted wants nothing. */
function wishesIn(object: KubeObject | undefined): ReadonlyMap<string, string> {
  if (object === undefined || isDeletion(object)) return new Map()
  const { spec } = object as DataSync
  return new Map(triplesOf(spec).map((triple) => [imageOf(object, triple), wishOf(spec, triple.vm)]))
}

/** Returns what belongs to people. */
function theirs(object: KubeObject | undefined, isSpecTheirs: boolean): unknown {
  const { metadata, spec } = object as DataSync
  const { labels, annotations = {}, ownerReferences, finalizers } = metadata
  const own = Object.entries(annotations).filter(([key]) => !REQUESTS.has(key) || object?.kind === DATA_SYNC.kind)
  const rest = Object.entries(spec).filter(([field]) => !FIELDS.includes(field))
  return [isSpecTheirs ? spec : rest, labels, own, ownerReferences, finalizers]
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
