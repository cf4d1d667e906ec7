import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import type { Oracle, Witness } from './oracle.ts'

/** In the query of every URL, and in every Secret. */
export const CANARY = 'canary-7d1f'

/** Invariant 9: nothing that the operator says has a secret in it. The source of a DataVolume has to name its URL. */
export class SecretsOracle implements Oracle {
  readonly #witness: Witness

  constructor(witness: Witness) {
    this.#witness = witness
  }

  onCommit({ actor, resource, object, type, revision }: Commit): void {
    if (!isOperator(actor) || type === 'DELETED' || resource.kind === 'Lease') return
    const own = writtenByOperator(resource.kind, object)
    if (JSON.stringify(own).includes(CANARY))
      this.#witness.report(9, `revision ${revision}: ${resource.kind} ${object.metadata.name} has a secret in it`)
  }

  checkText(what: string, text: string): void {
    if (text.includes(CANARY)) this.#witness.report(9, `a secret is in ${what}: ${around(text)}`)
  }
}

/** Without what others wrote into the same object. */
function writtenByOperator(kind: string, object: KubeObject): unknown {
  const { spec: _spec, ...withoutSpec } = object as KubeObject & { readonly spec?: unknown }
  const { annotations: _annotations, labels: _labels, ...metadata } = object.metadata
  if (kind === 'VMDiskImage' || kind === 'DataSync') return { ...withoutSpec, metadata }
  return kind === 'DataVolume' ? object.metadata : object
}

function around(text: string): string {
  const at = text.indexOf(CANARY)
  return text.slice(Math.max(0, at - 120), at + CANARY.length)
}
