import fc from 'fast-check'
import { crowd } from './crowd.ts'
import { DATA_SYNC_HUNTS } from './data-syncs/data-sync-hunts.ts'
import { FAMILIES } from './families.ts'
import { GATE_KINDS, type GateKind } from './gate/gate-story.ts'
import { HUNTS } from './hunts.ts'
import { MACHINE_HUNTS } from './machines/machine-hunts.ts'
import { type Schedule, withoutActs } from './schedule.ts'
import { TENANT_KINDS, type TenantKind } from './tenants/tenant-kinds.ts'
import { WORKSPACE_HUNTS } from './workspaces/workspace-hunts.ts'

/**
 * How a schedule of the whole operator is run. `inFull`: including the idle time after the end. `briefly`: without it, as it is
 * the same as after any other schedule. `comparingEnds` and `comparingWrites`: a second time without disturbances, which must end
 * in the same state, or also with the same number of writes.
 */
export type HowToRun = 'inFull' | 'briefly' | 'comparingEnds' | 'comparingWrites'

interface KindOfSchedules {
  readonly schedules: fc.Arbitrary<Schedule>
  readonly run: HowToRun
}

const inFull = (schedules: fc.Arbitrary<Schedule>) => ({ schedules, run: 'inFull' }) as const
const allInFull = <K extends string>(kinds: Readonly<Record<K, fc.Arbitrary<Schedule>>>) =>
  Object.fromEntries(Object.entries<fc.Arbitrary<Schedule>>(kinds).map(([name, kind]) => [name, inFull(kind)])) as {
    readonly [name in K]: ReturnType<typeof inFull>
  }
const briefly = (schedules: fc.Arbitrary<Schedule>) => ({ schedules, run: 'briefly' }) as const
const comparingEnds = (schedules: fc.Arbitrary<Schedule>) => ({ schedules, run: 'comparingEnds' }) as const
const comparingWrites = (schedules: fc.Arbitrary<Schedule>) =>
  ({ schedules: schedules.map(withoutActs), run: 'comparingWrites' }) as const

/** Kinds of schedules of the whole operator. */
export const WHOLE_KINDS = {
  ...allInFull(FAMILIES),
  ...allInFull(HUNTS),
  ...allInFull(DATA_SYNC_HUNTS),
  ...allInFull(MACHINE_HUNTS),
  ...allInFull(WORKSPACE_HUNTS),
  endsMachines: comparingEnds(FAMILIES.machines),
  endsDataSyncs: comparingEnds(FAMILIES.dataSyncs),
  endsDataSyncsLagging: comparingEnds(FAMILIES.dataSyncsLagging),
  endsWorkspaces: comparingEnds(FAMILIES.workspaces),
  // For admissions.
  crowded: briefly(FAMILIES.crowded),
  crowd: briefly(crowd),
  dataSyncsCrowd: briefly(FAMILIES.dataSyncsCrowd),
  endsVaried: comparingEnds(FAMILIES.varied),
  endsUnattended: comparingEnds(FAMILIES.unattended),
  endsDisconnected: comparingEnds(FAMILIES.disconnected),
  endsLagging: comparingEnds(FAMILIES.lagging),
  writesVaried: comparingWrites(FAMILIES.varied),
  writesUnattended: comparingWrites(FAMILIES.unattended),
  writesDisconnected: comparingWrites(FAMILIES.disconnected),
  writesLagging: comparingWrites(FAMILIES.lagging),
  writesRush: comparingWrites(FAMILIES.rush),
  writesDelayed: comparingWrites(FAMILIES.delayed),
  writesTakeOvers: comparingWrites(HUNTS.takeOvers),
  writesLaggingTakeOvers: comparingWrites(HUNTS.laggingTakeOvers),
} as const satisfies Record<string, KindOfSchedules>
export type WholeKind = keyof typeof WHOLE_KINDS

export type Kind = WholeKind | GateKind | TenantKind

/** Identifies one schedule, as long as the arbitraries do not change. */
export type Story = Named<WholeKind> | StoryOfGate | StoryOfTenants

interface Named<K extends string> {
  readonly kind: K
  readonly seed: number
}

export type StoryOfGate = Named<GateKind>

/** A story with a tenant who forges objects. */
export type StoryOfTenants = Named<TenantKind>

export function isOfGate(story: Story): story is StoryOfGate {
  return isGateKind(story.kind)
}

export function isOfTenants(story: Story): story is StoryOfTenants {
  return isTenantKind(story.kind)
}

function isTenantKind(kind: string): kind is TenantKind {
  return TENANT_KINDS.some((one) => one === kind)
}

export function isGateKind(kind: string): kind is GateKind {
  return GATE_KINDS.some((one) => one === kind)
}

export function nameOf({ kind, seed }: Story): string {
  return `${kind}:${seed}`
}

/** Throws if it is not the name of a story. */
export function storyOf(name: string): Story {
  const [kind = '', seed = ''] = name.split(':')
  const isKind = Object.hasOwn(WHOLE_KINDS, kind) || isGateKind(kind) || isTenantKind(kind)
  if (!isKind || !/^[0-9]{1,10}$/.test(seed))
    throw new Error(
      `${name} is not one of ${[...Object.keys(WHOLE_KINDS), ...GATE_KINDS, ...TENANT_KINDS].join(', ')} with a seed, such as varied:1`,
    )
  return { kind, seed: Number(seed) } as Story
}

/** Throws for a story of the gate or with a tenant: these are run in their own way. */
export function howToRun(story: Story): HowToRun {
  if (isOfGate(story) || isOfTenants(story)) throw new Error(`${story.kind} is no kind of schedules`)
  return WHOLE_KINDS[story.kind].run
}

/** Throws for a story of the gate or with a tenant: their schedules are made elsewhere. */
export function scheduleOf(story: Story): Schedule {
  if (isOfGate(story) || isOfTenants(story)) throw new Error(`${nameOf(story)} has no schedule`)
  const [schedule] = fc.sample<Schedule>(WHOLE_KINDS[story.kind].schedules, { numRuns: 1, seed: story.seed })
  if (schedule === undefined) throw new Error('fast-check made no schedule')
  return schedule
}

/**
 * What a campaign runs, in turn. A crowd takes about ten times as long as any other schedule, and has the admissions to match; the others
 * cover more of what can happen.
 */
const MIX: readonly WholeKind[] = [
  'crowd',
  'varied',
  'rush',
  'dataSyncs',
  'endsVaried',
  'writesDisconnected',
  'disconnected',
  'dataSyncsCrowd',
  'delayed',
  'writesRush',
  'endsUnattended',
  'rush',
  'dataSyncsCalm',
  'undisturbed',
  'unattended',
  'impatient',
  'writesVaried',
  'dataSyncsDisconnected',
  'crowded',
  'lateLedger',
  'endsDisconnected',
  'endsDataSyncs',
  'writesDelayed',
  'curators',
  'rush',
  'dataSyncsCrowd',
  'cloners',
  'machines',
  'writesUnattended',
  'writesTakeOvers',
  'machinesDisconnected',
  'dataSyncsLagging',
  'machinesHanging',
  'machinesUprooted',
  'lagging',
  'rush',
  'writesLagging',
  'endsLagging',
  'endsDataSyncsLagging',
  'machinesLagging',
  'writesLaggingTakeOvers',
  'outages',
  'adoptions',
  'cramped',
  'orphaned',
  'flooded',
  'machinesCorrected',
  'machinesRestored',
  'shared',
  'sharedTakeOvers',
  'workspaces',
  'workspacesHanging',
  'workspacesSharing',
  'workspacesLagging',
  'sharedWorkspaces',
  'workspacesDisconnected',
  'endsWorkspaces',
  'workspacesCalm',
  'workspacesPoints',
  'workspacesPointsCalm',
  'workspacesPlayed',
  'workspacesPlayedCalm',
  'workspacesImpatient',
]

/**
 * The schedules of a campaign depend on its seed, and on the number of stories of the gate between two of the whole operator. How many of
 * them run depends on the wanted admissions.
 */
export function storyAt(number: number, campaignSeed: number, gates: number): Story {
  const seed = (campaignSeed + number) % 2 ** 31
  const round = Math.floor(number / (gates + 1))
  const place = number % (gates + 1)
  const gate = round * gates + place
  if (place > 0) return { kind: GATE_KINDS[gate % GATE_KINDS.length] ?? 'gate', seed }
  return { kind: MIX[round % MIX.length] ?? 'varied', seed } as Story
}
