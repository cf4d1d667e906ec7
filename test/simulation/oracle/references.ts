import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { IMAGE, type Image } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import type { Kind } from '../kind.ts'
import { decidedWithinMs } from '../traces.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

export interface ReferenceWitness extends Witness {
  readonly kinds: () => readonly Kind[]
}

/**
 * Invariant 5: the operator deletes no image that anything refers to. An image that people delete lasts as long as it has users, and so does what
 * serves them. One whose namespace is being deleted goes at once: nothing could keep it.
 *
 * Use is counted with live reads, so a stale cache is no excuse: only changes after the decision are.
 */
export class ReferenceOracle extends WitnessOracle<ReferenceWitness> {
  onCommit(commit: Commit): void {
    const { resource, type, object, actor } = commit
    const { kind } = resource
    if (!isOperator(actor) || this.#isDoomed(object)) return
    if (kind === IMAGE.kind && isEnd(commit)) this.#check(object, 'the operator deletes it', false)
    if (kind === IMAGE.kind && type === 'DELETED') this.#check(object, 'it is gone', true)
    if ((kind === VOLUME_SNAPSHOT.kind || kind === DATA_VOLUME.kind) && isEnd(commit)) this.#checkArtifact(object)
  }

  #checkArtifact(object: KubeObject): void {
    const image = this.witness.chronicle.traces.of<Image>(IMAGE).get(controllerOf(object)?.uid ?? '')?.object
    const { kind, name } = image?.status?.artifact ?? {}
    // The volume that a snapshot was taken of has the name of the snapshot, and serves nobody.
    const serving = kind === VOLUME_SNAPSHOT.kind ? VOLUME_SNAPSHOT.kind : DATA_VOLUME.kind
    const isPublished = name === object.metadata.name && object.kind === serving
    if (image !== undefined && isDeletion(image) && isPublished) this.#check(image, 'what serves them is deleted', true)
  }

  #check(image: KubeObject, what: string, areUsersMeant: boolean): void {
    const { chronicle, disturbances, report, kinds } = this.witness
    for (const { title, ...since } of kinds().flatMap((kind) => kind.referencesTo?.(image) ?? [])) {
      const sinceMs = areUsersMeant ? since.usesSinceMs : since.sinceMs
      if (sinceMs !== undefined && chronicle.nowMs - sinceMs > decidedWithinMs(disturbances))
        report(5, `${title} refers to image ${keyOf(image.metadata)}, and ${what}`)
    }
  }

  #isDoomed({ metadata }: KubeObject): boolean {
    return this.witness.chronicle.traces.leavingNamespaces.has(metadata.namespace ?? '')
  }
}
