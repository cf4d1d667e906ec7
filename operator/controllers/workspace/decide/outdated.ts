import {
  VIRTUAL_MACHINE_CONDITIONS as MACHINE,
  WORKSPACE_CONDITIONS as TYPE,
  type WorkspaceReason,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import type { Saying } from '../../../runtime/conditions.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { idOf } from './component.ts'
import type { MachineAge } from './component-kind.ts'
import { idOfComponent, type Judged } from './judge.ts'

/** Why a machine is outdated, the costliest to mend first. */
export const OUTDATED_REASONS = [
  'SpecChanged',
  'RestartRequired',
  'ImageRefreshed',
] as const satisfies readonly WorkspaceReason[]
type OutdatedReason = (typeof OUTDATED_REASONS)[number]

const SHOWN_MAX = 3

/** Returns what a machine says of its disk; undefined if it says nothing of its present spec. */
export function machineAge({ metadata, status }: Pick<MachineFacts, 'metadata' | 'status'>): MachineAge | undefined {
  const { observedGeneration = 0, conditions } = status
  if (observedGeneration < (metadata.generation ?? 0)) return undefined
  const { status: holds, reason, message } = conditions?.find(({ type }) => type === MACHINE.UpToDate) ?? {}
  return holds === undefined ? undefined : { holds, reason: reason ?? '', message: message ?? '' }
}

/** Returns why a machine is outdated; undefined if it is not, or if nobody knows. */
export function outdatedReason(age: MachineAge | undefined): OutdatedReason | undefined {
  return age?.holds === 'False' ? OUTDATED_REASONS.find((one) => one === age.reason) : undefined
}

/** Machines that are deployed, and those of them that are outdated. */
interface Outdated {
  readonly machines: number
  readonly those: readonly { readonly name: string; readonly reason: OutdatedReason }[]
}

/** @param judged what is deployed */
export function outdatedIn(judged: readonly Judged[]): Outdated {
  const machines = judged.filter(({ component }) => component.kind === 'VirtualMachine')
  const those = machines.flatMap(({ component: { name }, age }) => {
    const reason = outdatedReason(age)
    return reason === undefined ? [] : [{ name, reason }]
  })
  return { machines: machines.length, those }
}

/** Returns what to say of machines that are outdated; an empty text if none is. */
export function outdatedText({ machines, those }: Outdated, { spec, rollout }: WorkspaceWorld): string {
  if (those.length === 0) return ''
  const isOne = those.length === 1
  const named = those.map(({ name, reason }) => `${name} (${reason})`)
  const told = `${those.length} of ${machines} machines ${isOne ? 'is' : 'are'} outdated: ${firstFew(named, SHOWN_MAX)}`
  const isRecreated = spec.ok && isRecreate(spec.spec) && those.some(({ reason }) => reason === 'SpecChanged')
  if (!isRecreated) return told
  const waits = rollout.waitsFor === undefined ? '' : `; the next one waits for ${rollout.waitsFor}`
  return `${told}; updateStrategy is Recreate: those with SpecChanged get new disks one after the other${waits}`
}

export function isRecreate({ updateStrategy }: WorkspaceSpec): boolean {
  return updateStrategy?.type === 'Recreate'
}

/** Reasons of what is Ready and not as the spec says, the costliest to mend first. */
const BEHIND = [
  'ImageMismatch',
  'SpecChanged',
  'RebuildRequired',
  'RestartRequired',
  'NotChangeable',
  'ImageRefreshed',
  'Outdated',
  'NamesNotCurrent',
] as const satisfies readonly WorkspaceReason[]

/** What a machine says of itself by its condition UpToDate, which tells more. */
const TOLD_BY_AGE: ReadonlySet<string> = new Set<WorkspaceReason>([
  'RebuildRequired',
  'RestartRequired',
  'NamesNotCurrent',
])

/** Returns why a component is not as the spec says, and a sentence about it. */
function behindOf({ age, summary }: Judged): { readonly why: WorkspaceReason; readonly message: string } | undefined {
  const reason = outdatedReason(age)
  const isTold = age !== undefined && TOLD_BY_AGE.has(summary.why)
  const own = isTold || !BEHIND.some((one) => one === summary.why) ? undefined : summary
  if (own?.why === 'ImageMismatch' || reason === undefined) return own
  return { why: reason, message: age?.message ?? '' }
}

/**
 * Returns what the condition UpToDate says: whether everything is as the spec says. What an earlier version made counts, too. It is not True before the whole of a
 * changed spec is written and its members have answered.
 * @param stands of the workspace
 */
export function labUpToDate(
  { workspace }: Pick<WorkspaceWorld, 'workspace'>,
  judged: readonly Judged[],
  { phase, reason, message }: { readonly phase: string; readonly reason: WorkspaceReason; readonly message: string },
): Saying<WorkspaceReason> {
  const of = (status: Saying['status'], why: WorkspaceReason, text: string) => ({
    status,
    reason: why,
    message: text,
  })
  const about = ({ component }: Judged, text: string, among: number) => {
    const others = among === 2 ? 'is 1 more component' : `are ${among - 1} more components`
    return `${idOfComponent(component)}: ${text}${among > 1 ? `; so ${others}, see status.components` : ''}`
  }
  const behind = judged.flatMap((one) => {
    const found = behindOf(one)
    return found === undefined ? [] : [{ one, ...found }]
  })
  const [first] = BEHIND.flatMap((why) => behind.filter((one) => one.why === why))
  if (first !== undefined) return of('False', first.why, about(first.one, first.message, behind.length))
  if (phase !== 'Ready') return of('False', reason, message)
  const changing = judged.filter(({ isChanging }) => isChanging === true)
  if (changing.length > 0 && !wasUpToDate(workspace)) {
    const ids = changing.map(({ component }) => idOfComponent(component))
    return of('False', 'Provisioning', `being changed: ${firstFew(ids, SHOWN_MAX)}`)
  }
  const unknown = judged.filter(({ age }) => age?.holds === 'Unknown')
  const [doubt] = unknown
  if (doubt !== undefined) return of('Unknown', 'NotRecorded', about(doubt, doubt.age?.message ?? '', unknown.length))
  return of('True', 'UpToDate', 'everything is as the spec says')
}

/** Reports whether it had come to the present spec before. What is put back, or is written in another way, does not change that. */
function wasUpToDate({ metadata, status }: WorkspaceWorld['workspace']): boolean {
  const before = status.conditions?.find(({ type }) => type === TYPE.UpToDate)
  return before?.status !== 'False' && before?.observedGeneration === metadata.generation
}

/** Returns the machines of a workspace that its spec wants to be deployed, by name. */
export function deployedMachines(
  { vms = [] }: WorkspaceSpec,
  children: WorkspaceWorld['children'],
): ReadonlyMap<string, MachineFacts | undefined> {
  const deployed = vms.filter(({ ignoreOnDeploy }) => ignoreOnDeploy !== true)
  return new Map(
    deployed.map(({ name }) => [name, children.get(idOf('VirtualMachine', name)) as MachineFacts | undefined]),
  )
}
