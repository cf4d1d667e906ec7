import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type CloudInitData,
  cloudInitFingerprint,
  cloudInitHash,
  VIRTUAL_MACHINE_REASONS,
  vmChildNames,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import type { MachineWorld } from '../world.ts'

/** Commands that are named; more are only counted. */
const COMMANDS_SHOWN = 6

/**
 * Returns the world with the data that an earlier version has rendered, where the Secret has these, or the guest has started with these: they stay as long as
 * the spec renders them. Another Secret would tell a guest that has started nothing, and its machine would need a new disk.
 */
export function withStandingCloudInit(world: MachineWorld): MachineWorld {
  const { vm, cloudInit } = world
  if (cloudInit.kind !== 'rendered' || cloudInit.earlier === undefined) return world
  const { earlier, warnings = [], ...rendered } = cloudInit
  if (!stands(world, earlier.data, rendered.data)) return world
  const { namespace, name } = vm.metadata
  const commands = firstFew(earlier.commands, COMMANDS_SHOWN)
  const message = `the first start of the guest is told by an earlier version, with which a card of Windows gets the last of several addresses alone, and no mtu: unless somebody has given it the rest, run in the guest: ${commands}; to have a new disk get all of it, first delete the Secret, which is made again: kubectl -n ${namespace} delete secret ${vmChildNames(name).cloudInit}`
  const warning = { reason: VIRTUAL_MACHINE_REASONS.WindowsGuest, message }
  return { ...world, cloudInit: { ...rendered, data: earlier.data, warnings: [...warnings, warning] } }
}

function stands({ vm, secret }: MachineWorld, earlier: CloudInitData, now: CloudInitData): boolean {
  if (secret === undefined) return false
  const fingerprint = (data: CloudInitData) => cloudInitFingerprint(secret.metadata.uid ?? '', cloudInitHash(data))
  const { specHash } = vm.status
  // After an edit that was undone, the Secret goes back to what the guest was told.
  if (specHash === fingerprint(earlier)) return true
  // An earlier version has written them again, after the guest was told all.
  if (specHash === fingerprint(now)) return false
  return secret.metadata.annotations?.[ANNOTATIONS.cloudInit] === cloudInitHash(earlier)
}
