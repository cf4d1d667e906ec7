import { sleep } from '../operator/base/clock.ts'
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** Labs that are worked on at a time: a class of 40 is no load for an API server. */
const AT_ONCE = 8

/** How often a lab is looked at that is waited for. */
const LOOK_MS = 2_000

export const RESULT_FORMS = ['text', 'json', 'name'] as const
export type ResultForm = (typeof RESULT_FORMS)[number]

/** What became of one lab, or of another object. `-o json` prints a list of them, without `text`. */
export interface LabOutcome {
  readonly name: string
  /** Singular of its kind. Absent: `workspace`. */
  readonly kind?: string
  /** Of another object that is in one. */
  readonly namespace?: string
  /** `unchanged`: it was so already. `planned`: it would be changed. `done`: it is so, after a wait. */
  readonly result: 'changed' | 'unchanged' | 'planned' | 'refused' | 'done' | 'failed' | 'timedOut'
  /** For people: follows the name of the lab. */
  readonly text: string
  /** Why it was refused, has failed, or is late. */
  readonly message?: string
  /** What a request is about that has disks made again. */
  readonly work?: LabWork
}

/** What of a lab is made again, and what goes with that. */
export interface LabWork {
  readonly machines: readonly MachineWork[]
  /** Other components that have lost their data, and are made again without it: `Volume data`. */
  readonly components: readonly string[]
}

/** Why a machine needs a new disk. */
export type DiskNeed = 'lost' | 'outdated'

/** What becomes of one machine. */
export interface MachineWork {
  readonly name: string
  /** Why it needs a new disk. Absent: it does not, as far as is known. */
  readonly need?: DiskNeed
  /** Disks that are there now, and whose data goes. */
  readonly disks: readonly string[]
}

/**
 * Looks at a lab again and again until it has ended, or the time is over.
 * @param endsAt when to give up, on the monotonic clock
 * @param look returns how it has ended, or what to tell of it while it goes on
 */
export async function outcomeOnceEnded(
  clock: Surroundings['clock'],
  name: string,
  endsAt: number,
  look: () => Promise<Omit<LabOutcome, 'name'> | string>,
): Promise<LabOutcome> {
  for (;;) {
    const seen = await look()
    if (typeof seen !== 'string') return { name, ...seen }
    if (clock.monotonic() + LOOK_MS > endsAt)
      return { name, result: 'timedOut', text: `is not so yet: ${seen}`, message: seen }
    await sleep(clock, LOOK_MS)
  }
}

/** Does something with each lab, tells what became of it, and returns how the command ends. */
export async function tellOutcomes<T>(
  labs: readonly T[],
  form: ResultForm,
  print: Surroundings['print'],
  work: (lab: T) => Promise<LabOutcome>,
): Promise<ExitCode> {
  const outcomes = await eachOf(labs, async (lab) => {
    const outcome = await work(lab)
    const { namespace, text } = outcome
    if (form === 'text')
      print(`${nameOf(outcome)}${namespace === undefined ? '' : ` in ${namespace}`} ${shown(text)}\n`)
    return outcome
  })
  if (form === 'json')
    print(
      `${JSON.stringify(
        outcomes.map(({ text: _, ...rest }) => rest),
        undefined,
        2,
      )}\n`,
    )
  if (form === 'name') print(outcomes.map((outcome) => `${nameOf(outcome)}\n`).join(''))
  const results = outcomes.map(({ result }) => result)
  if (results.includes('refused') || results.includes('failed')) return EXIT_CODES.failed
  return results.includes('timedOut') ? EXIT_CODES.timedOut : EXIT_CODES.done
}

/** As kubectl names it. */
function nameOf({ kind = 'workspace', name }: LabOutcome): string {
  return `${kind}.pelotech.ot/${name}`
}

/** Carries out a task for each item, at most {@link AT_ONCE} at a time. Returns the results in the order of the items. */
export async function eachOf<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await task(items[at] as T)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}
