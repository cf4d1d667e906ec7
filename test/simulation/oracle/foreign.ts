import { POLICY_STATUS_NAME } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isLedger, isOperator } from '../chronicle.ts'
import type { Kind } from '../kind.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

export interface ForeignWitness extends Witness {
  readonly kinds: () => readonly Kind[]
}

/** Invariant 6: the operator writes only its own objects, and in those of others only what is its own. Each kind defines what that is. */
export class ForeignOracle extends WitnessOracle<ForeignWitness> {
  onCommit(commit: Commit): void {
    const { actor, type, resource, object, revision } = commit
    if (!isOperator(actor) || resource.kind === 'Event' || resource.kind === 'Lease' || isLedger(commit)) return
    if (resource.kind === 'ConfigMap' && object.metadata.name === POLICY_STATUS_NAME) return
    if (this.witness.kinds().some((kind) => kind.permits(commit))) return
    const { namespace, name } = object.metadata
    this.witness.report(
      6,
      `revision ${revision}: ${type} of ${resource.kind} ${namespace}/${name}: it is not the operator's`,
    )
  }
}

/** Reports whether all fields of an object that belong to people are unchanged. */
export function isPeoplesPartKept({ object, before }: Commit): boolean {
  if (before === undefined) return false
  const theirs = ({ metadata: { labels, annotations, ownerReferences }, ...rest }: KubeObject) =>
    JSON.stringify([(rest as { spec?: unknown }).spec, labels, annotations, ownerReferences])
  return theirs(object) === theirs(before)
}
