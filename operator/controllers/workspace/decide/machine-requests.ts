import { ANNOTATIONS, type WorkspaceSpec, type WorkspaceStatus } from '@open-terrain/constructs'
import { ABOUT_LOSSES, shortHash } from '@open-terrain/constructs/operator'
import type { MachineFacts, WorkspaceView, WorkspaceWorld } from '../world.ts'
import type { Blueprint, Rollout } from './component.ts'
import { deployedMachines } from './outdated.ts'
import { rebuildRequestsOf, requestWithoutMark } from './rebuilds.ts'
import { passedReset } from './resets.ts'

/** What machines are asked for, in a blueprint. */
type Asked = Pick<Blueprint, 'rebuildRequestedAt' | 'rebuildRequests' | 'resetRequestedAt' | 'resetRequests'>

interface RequestFacts {
  readonly workspace: Pick<WorkspaceView, 'metadata' | 'status'>
  readonly spec: WorkspaceSpec
  readonly children: WorkspaceWorld['children']
}

/**
 * Returns what the machines of a workspace are asked for. A value of the workspace is given to all of them once. After that, a machine keeps the value that
 * somebody has given to it alone: it would take the older one of the workspace for a new request, and its disk would go a second time.
 */
export function machineRequests({ workspace, spec, children }: RequestFacts, rollout: Rollout): Asked {
  const rebuildRequestedAt = rebuildValue({ workspace, spec, children })
  const resetRequestedAt = passedReset(workspace)
  const rebuilds = rebuildRequestsOf({ spec, children }, rebuildRequestedAt, rollout, isRebuildPassed(workspace))
  const resets = new Map<string, string>()
  if (isPassed(resetRequestedAt, workspace.status.passedReset)) {
    for (const [name, machine] of deployedMachines(spec, children)) {
      const value = machine?.metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
      if (value !== undefined && value !== resetRequestedAt) resets.set(name, value)
    }
  }
  return {
    rebuildRequestedAt,
    resetRequestedAt,
    ...(rebuilds.size > 0 && { rebuildRequests: rebuilds }),
    ...(resets.size > 0 && { resetRequests: resets }),
  }
}

/**
 * Returns the value that machines get for the request of the workspace. One that was set while the workspace told of a loss is about that: a machine whose disk
 * is there, but outdated, keeps it. What the first machine has got, all get.
 */
function rebuildValue({ workspace, spec, children }: RequestFacts): string | undefined {
  const own = workspace.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  if (own === undefined) return undefined
  const machines = [...deployedMachines(spec, children).values()].filter((one) => one !== undefined)
  const isGiven = machines.some((one) => givenTo(one, ANNOTATIONS.rebuildRequestedAt, own) === own + ABOUT_LOSSES)
  const isLost = (workspace.status.lost ?? []).length > 0 || machines.some(hasLostDisk)
  return isGiven || (isLost && !isRebuildPassed(workspace)) ? own + ABOUT_LOSSES : own
}

function hasLostDisk({ status }: MachineFacts): boolean {
  return status.conditions?.some(({ type, status: holds }) => type === 'DiskLost' && holds === 'True') === true
}

/** Returns what a machine has, without what a rollout has added. */
function givenTo({ metadata }: MachineFacts, annotation: string, own: string): string | undefined {
  return requestWithoutMark(metadata.annotations?.[annotation], own)
}

/** Returns for the status which values all machines have got. */
export function passedRequests({
  workspace,
  spec,
  children,
}: Pick<WorkspaceWorld, 'workspace' | 'spec' | 'children'>): Pick<WorkspaceStatus, 'passedRebuild' | 'passedReset'> {
  const { passedRebuild, passedReset: before } = workspace.status
  if (!spec.ok) return { ...(passedRebuild && { passedRebuild }), ...(before && { passedReset: before }) }
  const machines = [...deployedMachines(spec.spec, children).values()].filter((one) => one !== undefined)
  const recorded = (known: string | undefined, value: string | undefined, isKnown: boolean, annotation: string) => {
    if (value === undefined) return undefined
    const given = machines.map((one) => givenTo(one, annotation, value))
    const isEverywhere = given.every((one) => one === value || one === value + ABOUT_LOSSES)
    return isKnown || isEverywhere ? shortHash([value]) : known
  }
  const rebuild = workspace.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  const reset = passedReset(workspace)
  const rebuilt = recorded(passedRebuild, rebuild, isRebuildPassed(workspace), ANNOTATIONS.rebuildRequestedAt)
  const wasReset = recorded(before, reset, isPassed(reset, before), ANNOTATIONS.resetRequestedAt)
  return { ...(rebuilt && { passedRebuild: rebuilt }), ...(wasReset && { passedReset: wasReset }) }
}

/** One from before this was recorded has been given to the machines by an earlier version of the operator. */
function isRebuildPassed({ metadata, status }: RequestFacts['workspace']): boolean {
  const { phase, passedRebuild, uncountedReset } = status
  const isFromBefore = phase !== undefined && passedRebuild === undefined && uncountedReset === undefined
  return isFromBefore || isPassed(metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt], passedRebuild)
}

function isPassed(value: string | undefined, passed: string | undefined): boolean {
  return value !== undefined && shortHash([value]) === passed
}
