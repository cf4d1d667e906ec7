import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash } from '@open-terrain/constructs/operator'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { WorkspaceView } from '../world.ts'

type Asked = Pick<WorkspaceView, 'metadata' | 'status'>

/** What the status has where the annotation was looked for, and there was none. */
const NO_VALUE = 'none'

function resetValue({ metadata }: Pick<Asked, 'metadata'>): string | undefined {
  return metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
}

/**
 * Returns the request for new root disks that the machines get; undefined if there is none. A value from before the workspace was first looked at for it
 * destroys nothing: the operator may not have known it when it was set.
 */
export function passedReset(workspace: Asked): string | undefined {
  const value = resetValue(workspace)
  return value !== undefined && isCounted(value, workspace.status.uncountedReset) ? value : undefined
}

/** Reports whether a value was set after the operator had first looked for the annotation. @param first from {@link firstSeen} */
export function isCounted(value: string, first: string | undefined): boolean {
  return first !== undefined && first !== shortHash([value])
}

/** Returns what the status says of the value that was there first: its hash, or that there was none. */
export function firstSeen(known: string | undefined, value: string | undefined): string {
  return known ?? (value === undefined ? NO_VALUE : shortHash([value]))
}

/** Returns the request that does not count, for the status. It is the one that was there first, and never another one. */
export function uncountedReset(workspace: Asked): string {
  return firstSeen(workspace.status.uncountedReset, resetValue(workspace))
}

/** Tells who has asked in vain. A workspace that was created with the annotation is new as it is. */
export function eventsOnReset(workspace: Asked): EventNote[] {
  const { phase, uncountedReset: known } = workspace.status
  if (phase === undefined || known !== undefined || resetValue(workspace) === undefined) return []
  const message = `annotation ${ANNOTATIONS.resetRequestedAt} was there before the operator first looked for it: it does not count, and all machines keep their disks; to replace them, set another value`
  return [{ type: 'Warning', reason: 'ResetNotCounted', message }]
}
