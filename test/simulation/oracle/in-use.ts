import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { DataVolume } from '../../harness/kinds.ts'
import { imageOwner, isEnd, isOperator } from '../chronicle.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

interface Clone {
  readonly name: string
  /** `Kind/namespace/name` of what it reads. */
  readonly source: string
  readonly sinceMs: number
}

/** A delete may be carried out this long after the lists that it is based on. */
const DECIDED_BEFORE_MS = 15_000

/** Invariant 5: the source of an unfinished clone is not deleted, unless a person deleted the image. */
export class InUseOracle extends WitnessOracle<Witness> {
  readonly #clones = new Map<string, Clone>()

  onCommit(commit: Commit): void {
    const { resource, object, actor } = commit
    if (resource.kind === 'DataVolume' && imageOwner(object) === undefined) this.#followClone(commit)
    if (isEnd(commit) && isOperator(actor)) this.#checkDeletion(commit)
  }

  #followClone({ type, object }: Commit): void {
    const { uid = '', name, namespace } = object.metadata
    const { spec, status } = object as DataVolume
    const [kind, source] = Object.entries(spec.source ?? {})[0] ?? []
    const isUnfinished = type !== 'DELETED' && status?.phase !== 'Succeeded'
    if (!isUnfinished || (kind !== 'snapshot' && kind !== 'pvc')) {
      this.#clones.delete(uid)
      return
    }
    if (this.#clones.has(uid)) return
    const of = source as { readonly namespace?: string; readonly name: string }
    const key = `${kind === 'snapshot' ? 'VolumeSnapshot' : 'PersistentVolumeClaim'}/${of.namespace ?? namespace}/${of.name}`
    this.#clones.set(uid, { name, source: key, sinceMs: this.witness.chronicle.nowMs })
  }

  #checkDeletion({ resource, object, revision }: Commit): void {
    const { chronicle, report, disturbances } = this.witness
    const { namespace, name, uid } = object.metadata
    const sources = this.#sourcesOf(resource.kind, object)
    if (sources.length === 0 || chronicle.isDeletedByPerson(imageOwner(object)?.uid ?? uid ?? '')) return
    for (const clone of this.#clones.values()) {
      const ageMs = chronicle.nowMs - clone.sinceMs
      // For a volume whose snapshot serves, the operator relies on its cache: watch events must have reported the clone.
      const isKnown = ageMs > DECIDED_BEFORE_MS && disturbances.calmForMs('watch', 'freeze') > ageMs
      if (sources.includes(clone.source) && isKnown)
        report(
          5,
          `revision ${revision}: ${resource.kind} ${namespace}/${name} is deleted, clone ${clone.name} reads it`,
        )
    }
  }

  /** Returns the sources of clones that are deleted with the object. */
  #sourcesOf(kind: string, { metadata: { namespace, name, uid } }: Commit['object']): string[] {
    if (kind === 'VolumeSnapshot') return [`VolumeSnapshot/${namespace}/${name}`]
    if (kind === 'DataVolume') return [`PersistentVolumeClaim/${namespace}/${name}`]
    if (kind !== 'VMDiskImage') return []
    const { artifact } = this.witness.chronicle.images.get(uid ?? '')?.status ?? {}
    return artifact === undefined ? [] : [`${artifact.kind}/${namespace}/${artifact.name}`]
  }
}
