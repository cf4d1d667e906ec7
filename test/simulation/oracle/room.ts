import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { isLedger, isOperator, isSameClaim } from '../chronicle.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/** The claim that people see, and the one that CDI fills. */
const CLAIMS_OF_AN_IMPORT = 2
/** A watch reports a quota within milliseconds, but the work queue may take a while. */
const SEEN_WITHIN_MS = 10_000

interface Quota extends KubeObject {
  readonly status?: Partial<Record<'hard' | 'used', Readonly<Record<string, string>>>>
}

/** Invariant 3: an image that is created while its namespace has no room for an import takes no slot as long as that lasts. */
export class RoomOracle extends WitnessOracle<Witness> {
  /** Since when namespaces have no room. */
  readonly #fullSinceMs = new Map<string, number>()
  /** Since when its namespace had no room when the image was created, by uid. */
  readonly #cameLate = new Map<string, number>()

  onCommit(commit: Commit): void {
    const { resource, type, object, actor } = commit
    const { namespace = '', uid = '' } = object.metadata
    const fullSinceMs = this.#fullSinceMs.get(namespace)
    if (resource.kind === 'ResourceQuota') this.#follow(commit)
    else if (resource.kind === 'VMDiskImage' && type === 'ADDED' && fullSinceMs !== undefined) {
      if (this.#isKnown(fullSinceMs)) this.#cameLate.set(uid, fullSinceMs)
    } else if (isLedger(commit) && isOperator(actor) && type !== 'DELETED') this.#checkClaims(commit)
  }

  #follow({ type, object }: Commit): void {
    const { namespace = '' } = object.metadata
    const { hard, used } = (object as Quota).status ?? {}
    const [most, taken] = [hard, used].map((amounts) => Number(amounts?.['persistentvolumeclaims'] ?? Number.NaN))
    const isFull = type !== 'DELETED' && (taken ?? 0) + CLAIMS_OF_AN_IMPORT > (most ?? Number.NaN)
    if (!isFull) this.#fullSinceMs.delete(namespace)
    else if (!this.#fullSinceMs.has(namespace)) this.#fullSinceMs.set(namespace, this.witness.chronicle.nowMs)
  }

  #checkClaims({ revision }: Commit): void {
    const { chronicle, report } = this.witness
    const { ledger, ledgerBefore } = chronicle
    if (ledger === undefined || ledgerBefore === undefined) return
    for (const holder of ledger.holders) {
      if (ledgerBefore.holders.some((one) => isSameClaim(one, holder))) continue
      const fullSinceMs = this.#fullSinceMs.get(holder.namespace)
      if (fullSinceMs === undefined || this.#cameLate.get(holder.uid) !== fullSinceMs) continue
      report(3, `revision ${revision}: ${holder.name} takes a slot, and ${holder.namespace} has no room for its import`)
    }
  }

  #isKnown(sinceMs: number): boolean {
    const { chronicle, disturbances } = this.witness
    const ageMs = chronicle.nowMs - sinceMs
    return ageMs > SEEN_WITHIN_MS && disturbances.calmForMs('api', 'watch', 'freeze', 'crash') > ageMs
  }
}
