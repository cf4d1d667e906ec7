import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash } from '@open-terrain/constructs/operator'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { WorkspaceView } from '../world.ts'

type Asked = Pick<WorkspaceView, 'metadata' | 'status'>

/** What the status has where the annotation was looked for, and there was none. */
const NO_RESET = 'none'

function resetValue({ metadata }: Pick<Asked, 'metadata'>): string | undefined {
  return metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
}

/**
 * Returns the request for new root disks that the machines get; undefined if there is none. A value from before the workspace was first looked at for it
 * destroys nothing: the operator may not have known it when it was set.
 */
export function passedReset(workspace: Asked): string | undefined {
  const { uncountedReset } = workspace.status
  const value = resetValue(workspace)
  return uncountedReset === undefined || value === undefined || shortHash([value]) === uncountedReset
    ? undefined
    : value
}

/** Returns the request that does not count, for the status. It is the one that was there first, and never another one. */
export function uncountedReset(workspace: Asked): string {
  const value = resetValue(workspace)
  return workspace.status.uncountedReset ?? (value === undefined ? NO_RESET : shortHash([value]))
}

/** Tells who has asked in vain. A workspace that was created with the annotation is new as it is. */
export function eventsOnReset(workspace: Asked): EventNote[] {
  const { phase, uncountedReset: known } = workspace.status
  if (phase === undefined || known !== undefined || resetValue(workspace) === undefined) return []
  const message = `annotation ${ANNOTATIONS.resetRequestedAt} was there before the operator first looked for it: it does not count, and all machines keep their disks; to replace them, set another value`
  return [{ type: 'Warning', reason: 'ResetNotCounted', message }]
}
