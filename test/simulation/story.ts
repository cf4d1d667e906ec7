import fc from 'fast-check'
import { FAMILIES } from './arbitraries.ts'
import { crowd } from './crowd.ts'
import { cloners, impatient, lateLedger } from './hunts.ts'
import type { Schedule } from './schedule.ts'

const KINDS = { ...FAMILIES, crowd, cloners, impatient, lateLedger } as const
export type Kind = keyof typeof KINDS

/** Names one schedule, as long as the arbitraries stay as they are. */
export interface Story {
  readonly kind: Kind
  readonly seed: number
}

export function nameOf({ kind, seed }: Story): string {
  return `${kind}:${seed}`
}

/** Throws where it is no name of a story. */
export function storyOf(name: string): Story {
  const [kind = '', seed = ''] = name.split(':')
  if (!Object.hasOwn(KINDS, kind) || !/^[0-9]{1,10}$/.test(seed))
    throw new Error(`${name} is not one of ${Object.keys(KINDS).join(', ')} with a seed, such as varied:1`)
  return { kind: kind as Kind, seed: Number(seed) }
}

export function scheduleOf({ kind, seed }: Story): Schedule {
  const [schedule] = fc.sample<Schedule>(KINDS[kind], { numRuns: 1, seed })
  if (schedule === undefined) throw new Error('fast-check made no schedule')
  return schedule
}

/**
 * What a campaign runs, in turn: crowds, for the number of admissions, and in between all kinds of stories, which meet
 * more of what can happen for each admission.
 */
const MIX: readonly Kind[] = [
  'crowd',
  'varied',
  'crowd',
  'rush',
  'crowd',
  'disconnected',
  'crowd',
  'delayed',
  'crowd',
  'varied',
  'crowded',
  'unattended',
  'crowd',
  'curators',
  'crowd',
  'undisturbed',
  'crowd',
  'impatient',
  'crowd',
  'lateLedger',
  'crowd',
  'cloners',
]

/** The schedules of a campaign depend on its seed alone; how many are run, on how many admissions are wanted. */
export function storyAt(number: number, campaignSeed: number): Story {
  return { kind: MIX[number % MIX.length] ?? 'varied', seed: (campaignSeed + number) % 2 ** 31 }
}
