import { isAlive, type PodView } from '../../../cluster/views.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'

/** A pod that downloads, or did. */
interface ImporterNote {
  readonly key: string
  /** UID of the DataVolume that it fills. */
  readonly dataVolume: string | undefined
}

/** Longest wait for a pod whose claims are gone, since it may be a stranger's. Importers have 30 s to end. */
const DOUBT_MS = 120_000

/**
 * Records which pods download for a slot. This is certain only while the claims that they fill exist, so a pod is recorded as soon as it is
 * observed. A recorded pod counts until it has ended, whatever happens to its claims and labels.
 */
export class ImporterNotes {
  /** By slot and uid of the pod. */
  readonly #known = new Map<string, Map<string, ImporterNote>>()
  /** Since when pods that may or may not be importers are waited for, by slot. */
  readonly #doubtfulSince = new Map<string, number>()
  readonly #pods: { get(key: string): PodView | undefined }

  constructor(pods: { get(key: string): PodView | undefined }) {
    this.#pods = pods
  }

  /** Records the importers of a slot's DataVolume. */
  note(slot: string, dataVolume: KubeObject, pods: readonly KubeObject[]): void {
    this.#doubtfulSince.delete(slot)
    if (pods.length === 0) return
    const known = this.#known.get(slot) ?? new Map<string, ImporterNote>()
    this.#known.set(slot, known)
    const { uid } = dataVolume.metadata
    for (const { metadata } of pods) known.set(metadata.uid ?? '', { key: keyOf(metadata), dataVolume: uid })
  }

  /** By uid of the pod. */
  of(slot: string): ReadonlyMap<string, ImporterNote> {
    return this.#known.get(slot) ?? NONE
  }

  /**
   * Reports whether an importer of the slot is alive, according to the cache: the watch reports its end.
   * @param over a DataVolume whose importers do not count: that it has finished may be known before their end is
   */
  isAnyAlive(slot: string, over?: KubeObject): boolean {
    return [...this.of(slot)].some(([uid, { key, dataVolume }]) => {
      const pod = this.#pods.get(key)
      return pod?.metadata.uid === uid && isAlive(pod) && (over === undefined || dataVolume !== over.metadata.uid)
    })
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

const NONE: ReadonlyMap<string, ImporterNote> = new Map()
