import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, type WorkspaceStatus } from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { comeBack, isGivenForLosses, machinesThere } from './machine-requests.ts'
import { machineAge, outdatedReason } from './outdated.ts'

const REQUESTS = {
  rebuild: {
    annotation: ANNOTATIONS.rebuildRequestedAt,
    reason: 'RebuildNotCounted',
    uncounted: 'uncountedRebuild',
    back: 'rebuilds',
    to: 'to have disks replaced that are outdated or lost',
  },
  reset: {
    annotation: ANNOTATIONS.resetRequestedAt,
    reason: 'ResetNotCounted',
    uncounted: 'uncountedReset',
    back: 'resets',
    to: 'to have them replaced',
  },
} as const

type Request = (typeof REQUESTS)[keyof typeof REQUESTS]

const SHOWN_MAX = 3

/**
 * Tells who has asked in vain, with the write that records the value, and so once for each.
 * @param after the status as it is to be written
 */
export function eventsOnLabRequests(world: WorkspaceWorld, after: WorkspaceStatus): EventNote[] {
  const notes = (['rebuild', 'reset'] as const).flatMap((which) => {
    const { annotation, reason, to } = REQUESTS[which]
    const why = whyInVain(world, REQUESTS[which])
    if (why === undefined) return []
    const message = `annotation ${annotation} ${why}: it does not count, and all machines keep their disks; ${to}, set another value`
    return [{ type: 'Warning', reason, message } as const]
  })
  return [...notes, ...idleRebuild(world, after), ...idlePlays(world, after)]
}

function whyInVain({ workspace }: WorkspaceWorld, { annotation, uncounted, back }: Request): string | undefined {
  const { metadata, status } = workspace
  if (metadata.annotations?.[annotation] === undefined) return undefined
  if (status.phase === undefined) return 'was there when the Workspace was created'
  if (status[uncounted] === undefined) return 'was there before the operator first looked for it'
  return comeBack(workspace)[back] === undefined ? undefined : 'has a value again that it had before'
}

/** Tells of a rebuild that all machines have been given, and that none of them needs. One whose status is of an earlier spec may be about to. */
function idleRebuild({ workspace, spec, children }: WorkspaceWorld, after: WorkspaceStatus): EventNote[] {
  const { annotation, reason } = REQUESTS.rebuild
  const value = workspace.metadata.annotations?.[annotation]
  const { passedRebuild } = workspace.status
  const isReached = after.passedRebuild !== undefined && after.passedRebuild !== passedRebuild
  if (!spec.ok || value === undefined || !isReached || comeBack(workspace).rebuilds !== undefined) return []
  const machines = machinesThere(spec.spec, children)
  const isAboutLoss = machines.some(isGivenForLosses)
  const outdated = machines.filter(hasOldDisk).map(({ metadata }) => metadata.name)
  const told = (why: string): EventNote[] => [{ type: 'Warning', reason, message: `annotation ${annotation} ${why}` }]
  if (isAboutLoss && outdated.length > 0)
    return told(
      `was set while the status told of lost data, and is about that alone: ${firstFew(outdated, SHOWN_MAX)}, whose disks are outdated, keep them; to have those replaced, set another value when nothing is lost`,
    )
  const isIdle = machines.every((one) => isDiskToStay(one))
  if (isAboutLoss || !isIdle) return []
  const what = machines.length === 0 ? 'no machine is deployed' : 'no machine is known to have one'
  const anyway = `to set all of them back to their images, with all that is on their disks, set annotation ${ANNOTATIONS.resetRequestedAt}`
  return told(
    `asks for disks in the place of those that are lost or outdated, and ${what}: nothing is replaced; ${anyway}`,
  )
}

/** Tells of roles that somebody wants played, and that stay on a disk once they have succeeded. */
function idlePlays({ workspace }: WorkspaceWorld, after: WorkspaceStatus): EventNote[] {
  const annotation = ANNOTATIONS.playRequestedAt
  const value = workspace.metadata.annotations?.[annotation]
  if (value === undefined) return []
  const request = shortHash([value])
  const before = new Map((workspace.status.plays ?? []).map((one) => [`${one.vm} ${one.play}`, one]))
  const left = (after.plays ?? []).filter((one) => {
    const had = before.get(`${one.vm} ${one.play}`)
    const isNews = had !== undefined && had.request !== request && one.request === request
    return isNews && one.play === 'build' && one.phase === 'Succeeded'
  })
  if (left.length === 0) return []
  const names = firstFew(
    left.map(({ vm }) => vm),
    SHOWN_MAX,
  )
  const message = `annotation ${annotation} does not count for the build roles of ${names}: they have succeeded on the present disk, and are not played again on it; to have them played, set the machine back to its image (annotation ${ANNOTATIONS.resetRequestedAt})`
  return [{ type: 'Normal', reason: 'PlayNotCounted', message }]
}

function hasOldDisk(machine: MachineFacts): boolean {
  const reason = outdatedReason(machineAge(machine))
  return reason === 'SpecChanged' || reason === 'ImageRefreshed'
}

/** One without a complete disk, or whose status is of an earlier spec, says neither. */
function isDiskToStay(machine: MachineFacts): boolean {
  const age = machineAge(machine)
  const isThere = age?.holds === 'True' || age?.reason === 'RestartRequired' || age?.reason === 'NotRecorded'
  return isThere && machine.status.replacement === undefined
}
