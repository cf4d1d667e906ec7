import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'

/** Longest wait for a pod whose claims are gone, since it may be a stranger's. Importers have 30 s to end. */
const DOUBT_MS = 120_000

/**
 * Records which pods download for a slot. This is certain only while the claims that they fill exist, so a pod is recorded as soon as it is
 * observed. A recorded pod counts until it has ended, whatever happens to its claims and labels.
 */
export class ImporterNotes {
  /** Keys of pods by uid, by slot. */
  readonly #known = new Map<string, Map<string, string>>()
  /** Since when pods that may or may not be importers are waited for, by slot. */
  readonly #doubtfulSince = new Map<string, number>()

  /** Records the importers of a slot whose DataVolume exists. */
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

  /** Reports whether the wait for a pod that may be an importer of the slot is over. The first call starts the wait. */
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
