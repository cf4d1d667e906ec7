import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, MACHINE, WORKSPACE } from '../harness/kinds.ts'
import type { Disturbances } from './disturbances.ts'

/** One object, from its first commit to its last. */
export interface Trace<T extends KubeObject = KubeObject> {
  /** As last stored. */
  object: T
  /** Who created it. */
  readonly creator: string
  readonly createdAtMs: number
  /** When its spec was last changed, and by whom. */
  specAtMs: number
  specBy: string
  /** When anything in it was last changed. */
  changedAtMs: number
  /** When its deletion started; undefined if it is not being deleted. */
  leavingAtMs: number | undefined
}

/** What is in the cluster now, from commits alone. */
export class Traces {
  /** Namespaces that are being deleted. */
  readonly leavingNamespaces = new Set<string>()
  readonly #now: () => number
  /** By group and kind, then by uid. */
  readonly #traces = new Map<string, Map<string, Trace>>()

  constructor(now: () => number) {
    this.#now = now
  }

  take({ type, resource, object, actor }: Commit): void {
    const { uid = '', name, deletionTimestamp, generation } = object.metadata
    if (resource.kind === 'Lease' || resource.kind === 'Event') return
    const traces = this.#of(resource)
    if (type === 'DELETED') traces.delete(uid)
    else {
      const nowMs = this.#now()
      const found = traces.get(uid)
      const trace = found ?? begun(object, actor, nowMs)
      if (trace.object.metadata.generation !== generation) Object.assign(trace, { specAtMs: nowMs, specBy: actor })
      trace.changedAtMs = nowMs
      if (deletionTimestamp !== undefined) trace.leavingAtMs ??= nowMs
      trace.object = object
      if (found === undefined) traces.set(uid, trace)
    }
    if (resource.kind !== 'Namespace') return
    if (type === 'DELETED') this.leavingNamespaces.delete(name)
    else if (deletionTimestamp !== undefined) this.leavingNamespaces.add(name)
  }

  /** Returns the existing objects of a type, by uid. */
  of<T extends KubeObject>(type: ResourceType): ReadonlyMap<string, Trace<T>> {
    return this.#of(type) as ReadonlyMap<string, unknown> as ReadonlyMap<string, Trace<T>>
  }

  #of({ group, kind }: ResourceType): Map<string, Trace> {
    const id = `${group}/${kind}`
    let traces = this.#traces.get(id)
    if (traces === undefined) {
      traces = new Map()
      this.#traces.set(id, traces)
    }
    return traces
  }
}

/**
 * Reports whether the operator may write an image for the template of an object of this kind: an image of a template, whosever, or one that a DataSync
 * had created which is gone.
 */
export function isForTemplateOf(kind: string, { object, before = object }: Commit, traces: Traces): boolean {
  const maker = before.metadata.labels?.[LABELS.createdBy] ?? ''
  if (object.metadata.labels?.[LABELS.createdBy] !== kind) return false
  if (maker !== DATA_SYNC.kind) return [MACHINE.kind, WORKSPACE.kind].includes(maker)
  const mark = before.metadata.annotations?.[ANNOTATIONS.creator] ?? ''
  return ![...traces.of(DATA_SYNC).values()].some(
    ({ object: one, leavingAtMs }) => leavingAtMs === undefined && mark.includes(`/${one.metadata.uid}`),
  )
}

function begun(object: KubeObject, actor: string, nowMs: number): Trace {
  const by = { creator: actor, specBy: actor }
  return { object, ...by, createdAtMs: nowMs, specAtMs: nowMs, changedAtMs: nowMs, leavingAtMs: undefined }
}

/** Returns how long ago the operator can have decided what is carried out now: its requests take at most 10 s to arrive. */
export function decidedWithinMs(disturbances: Disturbances): number {
  return disturbances.calmForMs('api', 'freeze') > 30_000 ? 1_000 : 15_000
}

/** Time after which what watches did not deliver has been listed again. */
const LISTED_AGAIN_MS = 30_000

/** Reports whether the operator must have known what happened `ageMs` ago when it decided what is carried out now. */
export function mustKnow(disturbances: Disturbances, ageMs: number): boolean {
  const isDelivered = disturbances.calmForMs('watch', 'freeze', 'api') > ageMs + LISTED_AGAIN_MS
  return isDelivered && ageMs > decidedWithinMs(disturbances)
}
