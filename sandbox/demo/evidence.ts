import type { Performer } from './cast.ts'
import type { Entry, Fact } from './facts.ts'
import type { Acts } from './scenes.ts'
import type { TransferStart } from './timeline.ts'

/** What the image server sent of one image. */
export interface Sent {
  readonly requests: number
  readonly bytes: number
  /** Downloads that nobody has ended. */
  readonly open: number
}

/** Everything that was seen from outside, by watches, by the image server and by the simulated importers. */
export interface Evidence {
  readonly journal: readonly Entry[]
  readonly cast: readonly Performer[]
  readonly acts: Acts
  /** By URL. */
  readonly sent: ReadonlyMap<string, Sent>
  /** The most downloads that the image server had open at once. */
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

/** It held when there are no problems; `detail` says what was seen then. */
export function judge(name: string, problems: readonly string[], detail: string): Check {
  const [first, ...others] = problems
  if (first === undefined) return { name, held: true, detail }
  return { name, held: false, detail: others.length === 0 ? first : `${first} (and ${others.length} more)` }
}

type FactOf<K extends Fact['kind']> = Extract<Fact, { readonly kind: K }>

/** Every state of one object that was seen, its end among them, in order. */
export function historyOf<K extends Fact['kind']>(
  { journal }: Pick<Evidence, 'journal'>,
  kind: K,
  name: string | undefined,
): Entry<FactOf<K>>[] {
  const isOf = (entry: Entry): entry is Entry<FactOf<K>> => entry.fact.kind === kind
  return journal.filter(isOf).filter(({ fact }) => fact.metadata.name === name)
}

/** The last state of an image, also of one that is gone. */
export function lastImage(evidence: Pick<Evidence, 'journal'>, name: string): FactOf<'image'> | undefined {
  return historyOf(evidence, 'image', name).at(-1)?.fact
}

/** Uid of an image, also of one that is gone; empty where it was never seen. */
export function uidOf(evidence: Pick<Evidence, 'journal'>, name: string): string {
  return lastImage(evidence, name)?.metadata.uid ?? ''
}
