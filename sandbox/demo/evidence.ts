import type { Performer } from './cast.ts'
import type { Entry, Fact } from './facts.ts'
import type { Acts } from './scenes.ts'
import type { TransferStart } from './timeline.ts'

/** What the image server sent for one image. */
export interface Sent {
  readonly requests: number
  readonly bytes: number
  /** Downloads that are still open. */
  readonly open: number
}

/** Everything that was observed from outside: by watches, by the image server and by the simulated importers. */
export interface Evidence {
  readonly journal: readonly Entry[]
  readonly cast: readonly Performer[]
  readonly acts: Acts
  /** By URL. */
  readonly sent: ReadonlyMap<string, Sent>
  /** Highest number of downloads that the image server had open at once. */
  readonly mostOpen: number
  readonly transfers: readonly TransferStart[]
  readonly operator: { readonly code: number | null; readonly signal: string | null; readonly ms: number }
}

export interface Check {
  readonly name: string
  readonly held: boolean
  /** What was measured, or what is wrong. */
  readonly detail: string
}

/** The check held if there are no problems. `detail` then says what was observed. */
export function judge(name: string, problems: readonly string[], detail: string): Check {
  const [first, ...others] = problems
  if (first === undefined) return { name, held: true, detail }
  return { name, held: false, detail: others.length === 0 ? first : `${first} (and ${others.length} more)` }
}

type FactOf<K extends Fact['kind']> = Extract<Fact, { readonly kind: K }>

/** Returns every observed state of one object, including its deletion, in order. */
export function historyOf<K extends Fact['kind']>(
  { journal }: Pick<Evidence, 'journal'>,
  kind: K,
  name: string | undefined,
): Entry<FactOf<K>>[] {
  const isOf = (entry: Entry): entry is Entry<FactOf<K>> => entry.fact.kind === kind
  return journal.filter(isOf).filter(({ fact }) => fact.metadata.name === name)
}

/** Returns the last state of an image, even if it is gone. */
export function lastImage(evidence: Pick<Evidence, 'journal'>, name: string): FactOf<'image'> | undefined {
  return historyOf(evidence, 'image', name).at(-1)?.fact
}

/** Returns the UID of an image, even if it is gone; empty if it was never observed. */
export function uidOf(evidence: Pick<Evidence, 'journal'>, name: string): string {
  return lastImage(evidence, name)?.metadata.uid ?? ''
}
