import { ANNOTATIONS } from '@open-terrain/constructs'
import { SHARED_LABEL } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { SECRET } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isEnd, isOperator } from '../chronicle.ts'
import { type Witness, WitnessOracle } from '../oracle/oracle.ts'
import { decidedWithinMs } from '../traces.ts'

/** Invariant 9: a Secret is copied only while its owner shares it, and with what it had then. */
export class CopiesOracle extends WitnessOracle<Witness> {
  /** By `<namespace>/<name>`: the contents that a Secret had while it was shared, each with the time when that ended. */
  readonly #shared = new Map<string, Map<string, number>>()

  onCommit(commit: Commit): void {
    const { actor, resource, object, revision } = commit
    if (resource.kind !== SECRET.kind) return
    const { chronicle, disturbances } = this.witness
    const { nowMs } = chronicle
    const key = keyOf(object.metadata)
    const contents = this.#shared.get(key) ?? new Map<string, number>()
    for (const [content, untilMs] of contents) contents.set(content, Math.min(untilMs, nowMs))
    if (commit.type === 'DELETED' || isEnd(commit)) return
    if (object.metadata.labels?.[SHARED_LABEL] === 'true')
      this.#shared.set(key, contents.set(contentOf(object), Number.POSITIVE_INFINITY))
    const source = object.metadata.annotations?.[ANNOTATIONS.copiedFrom]
    if (source === undefined || !isOperator(actor)) return
    const untilMs = this.#shared.get(source)?.get(contentOf(object)) ?? 0
    // It was read at most that long ago, and the request can be late besides.
    if (untilMs < nowMs - 2 * decidedWithinMs(disturbances))
      this.witness.report(9, `revision ${revision}: Secret ${key} has what ${source} does not have, or does not share`)
  }
}

function contentOf(secret: KubeObject): string {
  const { data = {} } = secret as KubeObject & { readonly data?: object }
  return JSON.stringify(Object.entries(data).toSorted())
}
