import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'

/** A pod whose claims are gone may be a stranger's, so nobody waits for it for longer than that. Importers have 30 s to end. */
const DOUBT_MS = 120_000

/**
 * Which pods download for a slot. It can be told for certain only while the claims that they fill are there, so it is noted as soon as
 * it is seen; one that was noted counts until it has ended, whatever becomes of its claims and labels.
 */
export class ImporterNotes {
  /** Keys of pods by uid, by slot. */
  readonly #known = new Map<string, Map<string, string>>()
  /** Since when pods that may be importers, and may not, are waited for. */
  readonly #doubtfulSince = new Map<string, number>()

  /** The DataVolume of the slot is there, and these are its importers. */
  note(slot: string, pods: readonly KubeObject[]): void {
    this.#doubtfulSince.delete(slot)
    if (pods.length === 0) return
    const known = this.#known.get(slot) ?? new Map<string, string>()
    this.#known.set(slot, known)
    for (const pod of pods) known.set(pod.metadata.uid ?? '', keyOf(pod.metadata))
  }

  /** Keys by uid. */
  of(slot: string): ReadonlyMap<string, string> {
    return this.#known.get(slot) ?? NONE
  }

  /** Whether a pod that may be an importer for the slot has been waited for long enough; the wait begins when this is first asked. */
  isDoubtOver(slot: string, now: number): boolean {
    const since = this.#doubtfulSince.get(slot) ?? now
    this.#doubtfulSince.set(slot, since)
    return now - since >= DOUBT_MS
  }

  /** Forgets all other slots. */
  keep(slots: ReadonlySet<string>): void {
    for (const notes of [this.#known, this.#doubtfulSince])
      for (const slot of notes.keys()) if (!slots.has(slot)) notes.delete(slot)
  }
}

const NONE: ReadonlyMap<string, string> = new Map()
