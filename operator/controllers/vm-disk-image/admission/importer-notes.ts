import type { KubeObject } from '../../../kube/kube-object.ts'

/** A pod whose claims are gone may be a stranger's, so nobody waits for it for longer than that. Importers have 30 s to end. */
const DOUBT_MS = 120_000

/**
 * Which pods download for a claim. It can be told for certain only while the claims that they fill are there, so it is noted as soon as
 * it is seen; one that was noted counts until it has ended, whatever becomes of its claims and labels.
 */
export class ImporterNotes {
  /** Keys of pods by uid, by claim. */
  readonly #known = new Map<string, Map<string, string>>()
  /** Since when pods that may be importers, and may not, are waited for. */
  readonly #doubtfulSince = new Map<string, number>()

  /** The DataVolume of the claim is there, and these are its importers. */
  note(claim: string, pods: readonly KubeObject[], keyOf: (pod: KubeObject) => string): void {
    this.#doubtfulSince.delete(claim)
    if (pods.length === 0) return
    const known = this.#known.get(claim) ?? new Map<string, string>()
    this.#known.set(claim, known)
    for (const pod of pods) known.set(pod.metadata.uid ?? '', keyOf(pod))
  }

  /** Keys by uid. */
  of(claim: string): ReadonlyMap<string, string> {
    return this.#known.get(claim) ?? NONE
  }

  /** Whether a pod that may be an importer of the claim has been waited for long enough; the wait begins when this is first asked. */
  isDoubtOver(claim: string, now: number): boolean {
    const since = this.#doubtfulSince.get(claim) ?? now
    this.#doubtfulSince.set(claim, since)
    return now - since >= DOUBT_MS
  }

  /** Forgets all other claims. */
  keep(claims: ReadonlySet<string>): void {
    for (const notes of [this.#known, this.#doubtfulSince])
      for (const claim of notes.keys()) if (!claims.has(claim)) notes.delete(claim)
  }
}

const NONE: ReadonlyMap<string, string> = new Map()
