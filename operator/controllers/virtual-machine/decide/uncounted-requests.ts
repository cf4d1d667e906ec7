import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { ABOUT_LOSSES, shortHash } from '@open-terrain/constructs/operator'
import { hasHash } from '../../../base/hash-list.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { MachineWorld } from '../world.ts'
import { isResetNotCounted, rebuildRequestOf, resetRequestOf } from './disk-requests.ts'
import { diskAge } from './up-to-date.ts'

const { rebuildRequestedAt: REBUILD, resetRequestedAt: RESET, givenRebuild: GIVEN } = ANNOTATIONS

const CREATED_WITH = 'was there when the VirtualMachine was created'
const SEEN_BEFORE = 'has a value again that it had before'
const LEFT_AS_IT_IS = 'is set while spec.ignoreOnDeploy is true'
const NOT_LOOKED_FOR = 'was there before the operator first looked for it'

/**
 * Tells who has asked in vain, with the write that records the value, and so once for each.
 * @param rebuild whether a request for a rebuild is over that nothing is done for
 */
export function eventsOnRequests(world: MachineWorld, rebuild: { readonly isInVain: boolean }): EventNote[] {
  const reset = whyResetInVain(world)
  const why = rebuild.isInVain ? whyRebuildInVain(world) : undefined
  return [
    ...(reset === undefined
      ? []
      : [
          note(
            'ResetNotCounted',
            RESET,
            `${reset}: it does not count, and the root disk stays; to replace it, set another value`,
          ),
        ]),
    ...(why === undefined ? [] : [note('RebuildNotCounted', REBUILD, why)]),
  ]
}

function note(reason: 'ResetNotCounted' | 'RebuildNotCounted', annotation: string, why: string): EventNote {
  return { type: 'Warning', reason, message: `annotation ${annotation} ${why}` }
}

/** A new machine of a workspace has the value of that, which tells it for all. */
function isNewInLab({ vm }: MachineWorld): boolean {
  return vm.status.phase === undefined && vm.metadata.labels?.[LABELS.workspace] !== undefined
}

function whyResetInVain(world: MachineWorld): string | undefined {
  const { phase, resetRequest, earlierResets } = world.vm.status
  const request = resetRequestOf(world.vm)
  if (request === undefined || request === resetRequest || !isResetNotCounted(world) || isNewInLab(world))
    return undefined
  if (phase === undefined) return CREATED_WITH
  if (resetRequest === undefined) return NOT_LOOKED_FOR
  return hasHash(earlierResets, request) ? SEEN_BEFORE : LEFT_AS_IT_IS
}

function whyRebuildInVain(world: MachineWorld): string | undefined {
  const { rebuildRequest, phase } = world.vm.status
  const request = rebuildRequestOf(world.vm)
  if (request === undefined || request === rebuildRequest || isNewInLab(world)) return undefined
  const stays = 'it does not count, and the root disk stays'
  if (phase === undefined)
    return `${CREATED_WITH}: ${stays}; to have the disk replaced when it is outdated or lost, set another value then`
  const why = whyNotCounted(world, request)
  if (why !== undefined) return `${why}: ${stays}; to have the disk replaced when it is outdated, set another value`
  const age = diskAge(world)
  if (isOfLab(world) && age?.is !== 'unknown') return undefined
  if (age === undefined)
    return `asks for another root disk, and there is no complete one that could be lost or outdated: it does not count`
  const anyway = `to replace it all the same, with all that the guest has written to it, set annotation ${RESET}`
  if (age.is === 'unknown')
    return `asks for another root disk, and it is not known whether the present one is outdated (${age.why}): ${stays}; ${anyway}`
  return `asks for another root disk, and the present one is neither lost nor outdated: ${stays}; ${anyway}`
}

/** Returns why a value does not count, whatever the disk is like; undefined if it does. */
function whyNotCounted({ vm, spec }: MachineWorld, request: string): string | undefined {
  const { earlierRebuilds, resetRequest, conditions = [] } = vm.status
  if (hasHash(earlierRebuilds, request)) return SEEN_BEFORE
  if (spec.ok && spec.spec.ignoreOnDeploy === true) return LEFT_AS_IT_IS
  if (resetRequest === undefined) return NOT_LOOKED_FOR
  return conditions.some(({ type }) => type === 'DiskLost')
    ? 'was set while the status told of a lost disk, and is about that alone'
    : undefined
}

/** A workspace asks all its machines, of which some are outdated, and tells it if none is. */
function isOfLab({ vm: { metadata } }: MachineWorld): boolean {
  const { [REBUILD]: value = '', [GIVEN]: given } = metadata.annotations ?? {}
  const own = value.endsWith(ABOUT_LOSSES) ? value.slice(0, -ABOUT_LOSSES.length) : value
  return given?.startsWith(shortHash([own])) === true
}
