import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash } from '@open-terrain/constructs/operator'
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
