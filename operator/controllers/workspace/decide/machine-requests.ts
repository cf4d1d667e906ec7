import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  ABOUT_LOSSES,
  type MachineRequest,
  type MachineRequests,
  shortHash,
  type WorkspaceSpec,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { type HashList, hasHash, withNewest } from '../../../base/hash-list.ts'
import type { MachineFacts, WorkspaceView, WorkspaceWorld } from '../world.ts'
import { idOf, type Rollout } from './component.ts'
import { deployedMachines } from './outdated.ts'
import { isRolloutRequest, rolloutRequest } from './rebuilds.ts'
import { firstSeen, isCounted, passedReset } from './resets.ts'

interface RequestFacts {
  readonly workspace: Pick<WorkspaceView, 'metadata' | 'status'>
  readonly spec: WorkspaceSpec
  readonly children: WorkspaceWorld['children']
}

/** A request of a workspace. */
interface Own {
  readonly value: string
  /** Of the value. What a machine is told to have been given begins with it. */
  readonly hash: string
  /** At the end of what a machine is told to have been given. */
  readonly kind: '' | typeof LOSSES
  /** Whether machines that have not been given it get it. */
  readonly counts: boolean
}

/** What a machine has. */
interface Had {
  readonly isThere: boolean
  readonly value: string | undefined
  readonly given: string | undefined
}

const LOSSES = '-losses'

/** Values that the status remembers. One that comes back is not a new request. */
const REMEMBERED_MAX = 8

/**
 * Returns what the machines of a workspace are asked for. A machine is given each value of its workspace at most once, and says which one it was given last. What
 * it has besides is from somebody who has asked for that machine alone: it stays, since the older value of the workspace would be a new request to the machine.
 */
export function machineRequests(facts: RequestFacts, rollout: Rollout): ReadonlyMap<string, MachineRequests> {
  const { spec, children } = facts
  const deployed = deployedMachines(spec, children)
  const rebuild = ownRebuild(facts)
  const reset = ownReset(facts)
  return new Map(
    (spec.vms ?? []).flatMap(({ name }) => {
      const machine = children.get(idOf('VirtualMachine', name)) as MachineFacts | undefined
      const isDeployed = deployed.has(name)
      const mark = rollout.asked.get(name)
      const rebuilt = hadOf(machine, ANNOTATIONS.rebuildRequestedAt, ANNOTATIONS.givenRebuild)
      const wasReset = hadOf(machine, ANNOTATIONS.resetRequestedAt, ANNOTATIONS.givenReset)
      const asked =
        mark === undefined
          ? requestFor(rebuilt, rebuild, isDeployed)
          : { value: rolloutRequest(mark), given: rebuilt.given }
      const requests = { rebuild: asked, reset: requestFor(wasReset, reset, isDeployed) }
      return isNothing(requests.rebuild) && isNothing(requests.reset) ? [] : [[name, requests] as const]
    }),
  )
}

function isNothing({ value, given }: MachineRequest): boolean {
  return value === undefined && given === undefined
}

function hadOf(machine: MachineFacts | undefined, annotation: string, givenBy: string): Had {
  const annotations = machine?.metadata.annotations
  return { isThere: machine !== undefined, value: annotations?.[annotation], given: annotations?.[givenBy] }
}

function requestFor({ isThere, value, given }: Had, own: Own | undefined, isDeployed: boolean): MachineRequest {
  const gets = own?.counts === true && isDeployed && given?.startsWith(own.hash) !== true
  // To a machine that does not exist yet no value is a request.
  if (own !== undefined && (!isThere || gets))
    return { value: own.value, given: own.counts ? own.hash + own.kind : undefined }
  // What is not rendered is left as it is.
  const isOurs = value !== undefined && (value === own?.value || isRolloutRequest(value))
  return { value: isOurs ? value : undefined, given }
}

/**
 * Returns the request for new disks in the place of those that are lost or outdated. One that was set while the workspace told of a loss is about that: a
 * machine whose disk is there, but outdated, keeps it. What the first machine was given, all are given.
 */
function ownRebuild({ workspace, spec, children }: RequestFacts): Own | undefined {
  const value = workspace.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  if (value === undefined) return undefined
  const hash = shortHash([value])
  const { uncountedRebuild, passedRebuild, lost = [] } = workspace.status
  const machines = machinesThere(spec, children)
  const given = machines.flatMap(({ metadata }) => metadata.annotations?.[ANNOTATIONS.givenRebuild] ?? [])
  const isAboutLosses = given.includes(hash + LOSSES) || (!given.includes(hash) && isLossTold(lost.length, machines))
  const counts = isCounted(value, uncountedRebuild) && !hasHash(passedRebuild, hash)
  if (!isAboutLosses || !counts) return { value, hash, kind: '', counts }
  return { value: value + ABOUT_LOSSES, hash, kind: LOSSES, counts }
}

/** Returns the machines that are deployed and exist. */
export function machinesThere(spec: WorkspaceSpec, children: RequestFacts['children']): MachineFacts[] {
  return [...deployedMachines(spec, children).values()].filter((one) => one !== undefined)
}

/** Reports whether what a machine was given last by its workspace is about losses alone. */
export function isGivenForLosses({ metadata }: MachineFacts): boolean {
  return metadata.annotations?.[ANNOTATIONS.givenRebuild]?.endsWith(LOSSES) === true
}

function isLossTold(lost: number, machines: readonly MachineFacts[]): boolean {
  const isLost = ({ status: { conditions = [] } }: MachineFacts) =>
    conditions.some(({ type, status }) => type === 'DiskLost' && status === 'True')
  return lost > 0 || machines.some(isLost)
}

function ownReset({ workspace }: RequestFacts): Own | undefined {
  const value = passedReset(workspace)
  if (value === undefined) return undefined
  const hash = shortHash([value])
  return { value, hash, kind: '', counts: !hasHash(workspace.status.passedReset, hash) }
}

/** What the status remembers once values have been seen that it knows, and that came back after others. Absent where none did. */
export function comeBack({ metadata, status }: RequestFacts['workspace']): {
  readonly rebuilds?: string
  readonly resets?: string
} {
  const { passedRebuild, passedReset: passed, uncountedRebuild, uncountedReset } = status
  const rebuilds = backIn(passedRebuild, uncountedRebuild, metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt])
  const resets = backIn(passed, uncountedReset, metadata.annotations?.[ANNOTATIONS.resetRequestedAt])
  return { ...(rebuilds !== undefined && { rebuilds }), ...(resets !== undefined && { resets }) }
}

function backIn(passed: HashList, uncounted: string | undefined, value: string | undefined): string | undefined {
  if (passed === undefined || value === undefined) return undefined
  const hash = shortHash([value])
  const isKnown = uncounted === hash || hasHash(passed, hash)
  return isKnown && !passed.endsWith(hash) ? withNewest(passed, hash, REMEMBERED_MAX) : undefined
}

/** Returns for the status which values all machines have been given, and which value of rebuilds is from before the operator looked for it. */
export function passedRequests({
  workspace,
  spec,
  children,
}: Pick<WorkspaceWorld, 'workspace' | 'spec' | 'children'>): Pick<
  WorkspaceStatus,
  'passedRebuild' | 'passedReset' | 'uncountedRebuild'
> {
  const { passedRebuild, passedReset: before, uncountedRebuild: known } = workspace.status
  const value = workspace.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  const uncountedRebuild = firstSeen(known, value)
  if (!spec.ok)
    return { uncountedRebuild, ...(passedRebuild && { passedRebuild }), ...(before && { passedReset: before }) }
  const facts = { workspace, spec: spec.spec, children }
  const machines = machinesThere(spec.spec, children)
  const recorded = (passed: string | undefined, own: Own | undefined, givenBy: string) => {
    if (own === undefined || !own.counts) return passed
    const isEverywhere = machines.every(({ metadata }) => metadata.annotations?.[givenBy]?.startsWith(own.hash))
    return isEverywhere ? withNewest(passed, own.hash, REMEMBERED_MAX) : passed
  }
  const { rebuilds, resets } = comeBack(workspace)
  const rebuilt = rebuilds ?? recorded(passedRebuild, ownRebuild(facts), ANNOTATIONS.givenRebuild)
  const wasReset = resets ?? recorded(before, ownReset(facts), ANNOTATIONS.givenReset)
  return { uncountedRebuild, ...(rebuilt && { passedRebuild: rebuilt }), ...(wasReset && { passedReset: wasReset }) }
}
