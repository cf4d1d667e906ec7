import { ANNOTATIONS } from '@open-terrain/constructs'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, type DataSync, type Image } from '../../harness/kinds.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { fieldsOf, textOf, tripleIn, triplesOf, wishOf } from './vms.ts'

const REQUESTS: ReadonlySet<string> = new Set([
  ANNOTATIONS.syncRequestedAt,
  ANNOTATIONS.retryRequestedAt,
  ANNOTATIONS.requestsReached,
])

/** Of one image, by the text of what is wanted: since when a DataSync wants that, or when the last one stopped. */
type Wanted = Map<string, { by: Set<string>; changedAtMs: number }>

/**
 * Invariant 6, for images of DataSyncs: one is created, and its spec changed, only as its DataSyncs want it, and never while they want different
 * things of it. Everything else in it stays as people wrote it.
 */
export class Wishes extends WitnessOracle<World> {
  /** By namespace and the text of the three that name a vm. */
  readonly #wanted = new Map<string, Wanted>()

  onCommit(commit: Commit): void {
    const { resource, object, before, actor } = commit
    if (resource.kind === DATA_SYNC.kind) {
      if (before !== undefined) this.#note(before as DataSync, false)
      if (commit.type !== 'DELETED' && !isDeletion(object)) this.#note(object as DataSync, true)
    }
    if (resource.kind === 'VMDiskImage' && isOperator(actor) && commit.type !== 'DELETED') this.#checkSpec(commit)
  }

  /** Whether this write is one that a DataSync may be the reason of. */
  permits({ resource, type, object, before }: Commit): boolean {
    if (resource.kind === DATA_SYNC.kind)
      return type === 'MODIFIED' && isSame(theirs(object, true), theirs(before, true))
    if (resource.kind !== 'VMDiskImage' || tripleIn(object) === undefined || type === 'DELETED') return false
    if (type === 'ADDED') return object.metadata.labels?.['pelotech.ot/created-by'] === DATA_SYNC.kind
    const isSpecTheirs = isSame((object as Image).spec, (before as Image).spec)
    return isSame(theirs(object, isSpecTheirs), theirs(before, isSpecTheirs))
  }

  #note({ metadata, spec }: DataSync, isWanted: boolean): void {
    const { uid = '', namespace } = metadata
    const { nowMs } = this.witness.chronicle
    for (const triple of triplesOf(spec)) {
      const key = `${namespace} ${textOf(triple)}`
      const wanted: Wanted = this.#wanted.get(key) ?? new Map()
      this.#wanted.set(key, wanted)
      const wish = wishOf(spec, triple.vm)
      const entry = wanted.get(wish) ?? { by: new Set<string>(), changedAtMs: nowMs }
      wanted.set(wish, entry)
      const had = entry.by.size > 0
      if (isWanted) entry.by.add(uid)
      else entry.by.delete(uid)
      // An edit that leaves the vm as it is takes it away and puts it back at the same moment.
      if (had !== entry.by.size > 0) entry.changedAtMs = nowMs
    }
  }

  #checkSpec({ object, before, type, revision }: Commit): void {
    const triple = tripleIn(object)
    const spec = fieldsOf((object as Image).spec)
    if (triple === undefined || (before !== undefined && fieldsOf((before as Image).spec) === spec)) return
    const wanted = this.#wanted.get(`${object.metadata.namespace} ${textOf(triple)}`) ?? new Map()
    const wrong = this.#wrong(spec, wanted)
    if (wrong !== undefined)
      this.witness.report(6, `revision ${revision}: image ${object.metadata.name} was ${type}, and ${wrong}`)
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

/** What belongs to people. */
function theirs(object: KubeObject | undefined, isSpecTheirs: boolean): unknown {
  const { metadata, spec } = object as DataSync
  const { labels, annotations = {}, ownerReferences, finalizers } = metadata
  const own = Object.entries(annotations).filter(([key]) => !REQUESTS.has(key) || object?.kind === DATA_SYNC.kind)
  const { url, sourceType, diskSize, storageClass, snapshotClass, secretRef, name, ...rest } =
    spec as unknown as Record<string, unknown>
  return [isSpecTheirs ? spec : rest, labels, own, ownerReferences, finalizers]
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
