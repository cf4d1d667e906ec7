import fc from 'fast-check'
import { FAMILIES } from './arbitraries.ts'
import { crowd } from './crowd.ts'
import { GATE_KINDS, type GateKind } from './gate/gate-story.ts'
import { amnesiac, cloners, impatient, lateLedger } from './hunts.ts'
import { MACHINE_FAMILIES } from './machines/machine-arbitraries.ts'
import {
  machinesForgotten,
  machinesLate,
  machinesLocked,
  machinesRefreshed,
  machinesUnseen,
} from './machines/machine-hunts.ts'
import type { MachineSchedule } from './machines/machine-schedule.ts'
import type { Schedule } from './schedule.ts'

const KINDS = { ...FAMILIES, crowd, cloners, impatient, lateLedger, amnesiac } as const
const MACHINE_KINDS = {
  ...MACHINE_FAMILIES,
  machinesUnseen,
  machinesRefreshed,
  machinesLate,
  machinesLocked,
  machinesForgotten,
} as const
type WholeKind = keyof typeof KINDS
type MachineKind = keyof typeof MACHINE_KINDS
export type Kind = WholeKind | MachineKind | GateKind

/** Names one schedule, as long as the arbitraries stay as they are. */
export interface Story {
  readonly kind: Kind
  readonly seed: number
}

/** One that runs the gate alone; all others run the whole operator. */
export interface GateStoryName extends Story {
  readonly kind: GateKind
}

/** One about virtual machines, with KubeVirt. */
interface MachineStoryName extends Story {
  readonly kind: MachineKind
}

export function isOfGate(story: Story): story is GateStoryName {
  return isGateKind(story.kind)
}

export function isGateKind(kind: string): kind is GateKind {
  return GATE_KINDS.some((one) => one === kind)
}

export function isOfMachines(story: Story): story is MachineStoryName {
  return isMachineKind(story.kind)
}

function isMachineKind(kind: string): kind is MachineKind {
  return Object.hasOwn(MACHINE_KINDS, kind)
}

export function nameOf({ kind, seed }: Story): string {
  return `${kind}:${seed}`
}

/** Throws where it is no name of a story. */
export function storyOf(name: string): Story {
  const [kind = '', seed = ''] = name.split(':')
  const isKind = Object.hasOwn(KINDS, kind) || isMachineKind(kind) || isGateKind(kind)
  if (!isKind || !/^[0-9]{1,10}$/.test(seed))
    throw new Error(
      `${name} is not one of ${[...Object.keys(KINDS), ...Object.keys(MACHINE_KINDS), ...GATE_KINDS].join(', ')} with a seed, such as varied:1`,
    )
  return { kind: kind as Kind, seed: Number(seed) }
}

/** Throws for a story of the gate or of machines: their schedules are made elsewhere. */
export function scheduleOf({ kind, seed }: Story): Schedule {
  if (isGateKind(kind) || isMachineKind(kind)) throw new Error(`${kind}:${seed} has no schedule of images`)
  return sample<Schedule>(KINDS[kind], seed)
}

export function machineScheduleOf({ kind, seed }: MachineStoryName): MachineSchedule {
  return sample<MachineSchedule>(MACHINE_KINDS[kind], seed)
}

function sample<T>(arbitrary: fc.Arbitrary<T>, seed: number): T {
  const [schedule] = fc.sample(arbitrary, { numRuns: 1, seed })
  if (schedule === undefined) throw new Error('fast-check made no schedule')
  return schedule
}

/**
 * What a campaign runs, in turn: crowds, for the number of admissions, and in between all kinds of stories, which meet
 * more of what can happen for each admission.
 */
const MIX: readonly (WholeKind | MachineKind)[] = [
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
  'machines',
  'crowd',
  'impatient',
  'crowd',
  'lateLedger',
  'machinesDisconnected',
  'crowd',
  'cloners',
  'machinesHanging',
]

/**
 * The schedules of a campaign depend on its seed, and on how many stories of the gate come from one of the whole operator to
 * the next; how many are run, on how many admissions are wanted.
 */
export function storyAt(number: number, campaignSeed: number, gates: number): Story {
  const seed = (campaignSeed + number) % 2 ** 31
  const round = Math.floor(number / (gates + 1))
  const place = number % (gates + 1)
  if (place > 0) return { kind: GATE_KINDS[place % GATE_KINDS.length] ?? 'gate', seed }
  return { kind: MIX[round % MIX.length] ?? 'varied', seed }
}
