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
import { hasBooted } from './machine-plan.ts'

/** Characters of the commands that are named; more are only counted. A condition has 4000 for all warnings. */
const COMMANDS_MAX = 2_500

/**
 * Returns the world with the data that an earlier version has rendered, where the Secret has these, or the guest has started with these: they stay as long as
 * the spec renders them. Another Secret would tell a guest that has started nothing, and its machine would need a new disk.
 */
export function withStandingCloudInit(world: MachineWorld): MachineWorld {
  const { vm, cloudInit } = world
  if (cloudInit.kind !== 'rendered' || cloudInit.earlier === undefined) return world
  const { earlier, tooLarge, ...rendered } = cloudInit
  const isEarlier = stands(world, earlier.data, rendered.data)
  const missing = isEarlier ? earlier.tooLarge : tooLarge
  if (missing !== undefined) return { ...world, cloudInit: missing }
  if (!isEarlier) return world
  const { namespace, name } = vm.metadata
  const ends = earlier.commands.map((_one, at) => earlier.commands.slice(0, at + 1).join(', ').length)
  const commands = firstFew(earlier.commands, ends.filter((end) => end <= COMMANDS_MAX).length)
  const message = `the first start of the guest is told by an earlier version, with which a card of Windows gets the last of several addresses alone, and no mtu: unless somebody has given it the rest, run in the guest: ${commands}; this stays, also when they were run, until the Secret is made again, which changes nothing in a guest that is set up, and tells a new disk all of it: kubectl -n ${namespace} delete secret ${vmChildNames(name).cloudInit}`
  const lacking = { reason: VIRTUAL_MACHINE_REASONS.WindowsGuest, message }
  return { ...world, cloudInit: { ...rendered, data: earlier.data, lacking } }
}

function stands(world: MachineWorld, earlier: CloudInitData, now: CloudInitData): boolean {
  const { vm, secret, machine } = world
  // A Secret alone has told nobody anything.
  if (secret === undefined || (machine === undefined && !hasBooted(world))) return false
  const fingerprint = (data: CloudInitData) => cloudInitFingerprint(secret.metadata.uid ?? '', cloudInitHash(data))
  const { specHash } = vm.status
  // After an edit that was undone, the Secret goes back to what the guest was told.
  if (specHash === fingerprint(earlier)) return true
  // An earlier version has written them again, after the guest was told all.
  if (specHash === fingerprint(now)) return false
  return secret.metadata.annotations?.[ANNOTATIONS.cloudInit] === cloudInitHash(earlier)
}
