import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { imageOwner, isLedger, isOperator } from '../chronicle.ts'
import type { Oracle, Witness } from './oracle.ts'

/** Invariant 6: the operator writes its own objects, and of the images of others the status and its finalizer alone. */
export class ForeignOracle implements Oracle {
  readonly #witness: Witness

  constructor(witness: Witness) {
    this.#witness = witness
  }

  onCommit(commit: Commit): void {
    if (!isOperator(commit.actor)) return
    const wrong = whatIsWrong(commit)
    if (wrong === undefined) return
    const { type, resource, object, revision } = commit
    const { namespace, name } = object.metadata
    this.#witness.report(6, `revision ${revision}: ${type} of ${resource.kind} ${namespace}/${name}: ${wrong}`)
  }
}

function whatIsWrong(commit: Commit): string | undefined {
  const { resource, object, before, type } = commit
  switch (resource.kind) {
    case 'Event':
    case 'Lease':
      return undefined
    case 'ConfigMap':
      return isLedger(commit) ? undefined : 'not the ledger'
    case 'VMDiskImage':
      return type === 'ADDED' ? 'made an image' : changedByOthersRight(object, before)
    case 'DataVolume':
    case 'VolumeSnapshot':
    case 'DataSource':
      return [object, before].every((one) => one === undefined || imageOwner(one) !== undefined)
        ? undefined
        : 'its controller is not an image'
    default:
      return 'the operator has no business with this kind'
  }
}

/** Fields of an image that belong to people. */
function changedByOthersRight(object: KubeObject, before: KubeObject | undefined): string | undefined {
  if (before === undefined) return undefined
  const theirs = ({ metadata: { labels, annotations, ownerReferences }, ...rest }: KubeObject) =>
    JSON.stringify([(rest as { spec?: unknown }).spec, labels, annotations, ownerReferences])
  return theirs(object) === theirs(before) ? undefined : 'changed what people wrote'
}
