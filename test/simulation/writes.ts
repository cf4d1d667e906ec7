import { isDeepStrictEqual } from 'node:util'
import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { keyOf } from '../../operator/kube/kube-object.ts'
import type { Commit, RequestInfo } from '../../sandbox/memory-cluster/index.ts'
import { type Image, reasonOf } from '../harness/kinds.ts'
import { imageOwner, isEnd, isOperator } from './chronicle.ts'
import { type Witness, WitnessOracle } from './oracle/oracle.ts'

/** Number of writes, by what was written: `status`, `place`, `silence`, `finalizer`, or verb and kind of a child, such as `create DataVolume`. */
export type Writes = Readonly<Record<string, number>>

/** Kinds that the operator writes for images. Its ledger, Lease and Events belong to all of them. */
const KINDS: ReadonlySet<string> = new Set(['VMDiskImage', 'DataVolume', 'VolumeSnapshot', 'DataSource'])

/** The report of the snapshot controller in a message, as JSON. */
const REPORT = /; its controller reports: (?:[^"\\]|\\.)*/g

/**
 * Counts the writes of the operator for each image that the API server carried out, even if the response was lost. Part of
 * invariant 7: no write repeats what is already stored.
 */
export class WriteBook extends WitnessOracle<Witness> {
  readonly #counts = new Map<string, Record<string, number>>()
  /** The last commit since the previous request. */
  #commit: Commit | undefined

  onCommit(commit: Commit): void {
    this.#commit = commit
  }

  /** Called right after the commit of the request, if it made one. */
  onRequest({ actor, verb, resource, key }: RequestInfo, code: string): void {
    const commit = this.#commit
    this.#commit = undefined
    const isWrite = verb !== 'get' && verb !== 'list' && verb !== 'watch'
    if (!isWrite || !isOperator(actor) || !KINDS.has(resource.kind) || !code.startsWith('2')) return
    // A caller that does not know yet that an object is being deleted may delete it again.
    if (commit !== undefined) this.#count(commit, verb)
    else if (verb !== 'delete') this.witness.report(7, `a ${verb} of ${resource.kind} ${key} changed nothing`)
  }

  /** By image, as `namespace/name`. */
  counts(): ReadonlyMap<string, Writes> {
    return this.#counts
  }

  #count(commit: Commit, verb: RequestInfo['verb']): void {
    const what = this.#whatIs(commit, verb)
    const image = imageKeyOf(commit)
    if (what === undefined || image === undefined) return
    const counts = this.#counts.get(image) ?? {}
    counts[what] = (counts[what] ?? 0) + 1
    this.#counts.set(image, counts)
  }

  #whatIs(commit: Commit, verb: RequestInfo['verb']): string | undefined {
    const { resource, object, revision } = commit
    const { kind } = resource
    if (verb === 'delete') return isEnd(commit) ? `delete ${kind}` : undefined
    if (kind !== 'VMDiskImage') return `${verb === 'create' ? 'create' : 'change'} ${kind}`
    if (verb !== 'replaceStatus') return 'finalizer'
    const change = changeIn(commit)
    if (change !== undefined) return change
    const { namespace, name } = object.metadata
    this.witness.report(
      7,
      `revision ${revision}: the status of image ${namespace}/${name} was written, but only its times are new`,
    )
    return undefined
  }
}

function imageKeyOf({ resource, object }: Commit): string | undefined {
  if (resource.kind === 'VMDiskImage') return keyOf(object.metadata)
  const owner = imageOwner(object)
  return owner && `${object.metadata.namespace}/${owner.name}`
}

/**
 * `place`: the progress of a download, including its start, which pod does it if that takes long, how long the queue is or whether it is
 * paused, or what a snapshot waits for. How often this is reported depends on time: an importer that fails within moments may never be seen
 * running, and a snapshot controller that sees a snapshot before it sees that its claim is bound reports that for a few milliseconds.
 * `silence`: that CDI does not act, which looks the same as an API server that does not tell of it.
 */
function changeIn({ object, before }: Commit): 'status' | 'place' | 'silence' | undefined {
  const [now, then] = [object as Image, before as Image | undefined]
  if (isDeepStrictEqual(withoutTimes(now.status), withoutTimes(then?.status))) return undefined
  const reason = reasonOf(now)
  if (reason === 'Starting' || reason === 'Syncing') return 'place'
  if (reason === 'CDINotResponding') return 'silence'
  return isDeepStrictEqual(withoutPlace(now), withoutPlace(then)) ? 'place' : 'status'
}

function withoutTimes(status: VMDiskImageStatus | undefined): Partial<VMDiskImageStatus> {
  const { queuePositionTime: _asOf, ...rest } = status ?? {}
  return { ...rest, conditions: (rest.conditions ?? []).map((one) => ({ ...one, lastTransitionTime: '' })) }
}

function withoutPlace(image: Image | undefined): unknown {
  const { progress: _progress, queuePosition: _position, importerPodUID: _pod, ...rest } = withoutTimes(image?.status)
  const reason = reasonOf(image)
  const conditions = rest.conditions?.map(({ type, status }) => ({ type, status }))
  if (rest.phase === 'Snapshotting') return JSON.parse(JSON.stringify(rest).replaceAll(REPORT, ''))
  if (rest.phase !== 'Queued' || (reason !== 'Queued' && reason !== 'Paused')) return rest
  return { ...rest, reason: undefined, message: undefined, conditions }
}
