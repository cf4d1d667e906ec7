import { isWindows } from './machine-os.ts'
import { keysOfNoLabel } from './machine-placement.ts'
import { compareQuantities } from './quantity.ts'
import type { SpecWarning } from './spec-warning.ts'
import type { VirtualMachineSpec } from './virtual-machine.ts'
import { groupsOf, IMAGE_USERS, ROOT, safeLogin, whyRenamed } from './virtual-machine-logins.ts'
import { VIRTUAL_MACHINE_REASONS } from './virtual-machine-reasons.ts'
import { windowsGuest, windowsLogins, windowsNames } from './virtual-machine-windows.ts'

export type { SpecWarning } from './spec-warning.ts'

/**
 * Returns what an author should know about a valid spec, in a fixed order. The result is empty if there is nothing to report.
 * @param imageSize size of the disk in the image, as a quantity: the actual one if it is known, otherwise that of the template
 */
export function warningsOf(
  spec: VirtualMachineSpec,
  imageSize = spec.vmDiskImageTemplate?.diskSize,
): readonly SpecWarning[] {
  const logins = isWindows(spec)
    ? windowsLogins(spec)
    : [...windowsNames(spec), ...renamedLogins(spec), ...groupsInTheWay(spec)]
  const guest = isWindows(spec) ? windowsGuest(spec) : []
  return [
    ...logins,
    ...lockedPasswords(spec),
    ...nobodyLogsIn(spec),
    ...guest,
    ...smallDisk(spec, imageSize),
    ...noNode(spec),
  ]
}

function renamedLogins({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  const names = users.map(({ name }) => name)
  return names.flatMap((name) => {
    const login = safeLogin(name, names)
    if (login === name) return []
    const message = `user ${JSON.stringify(name)} logs in as ${login}, since ${whyRenamed(name)}`
    return [{ reason: VIRTUAL_MACHINE_REASONS.LoginRenamed, message }]
  })
}

/** The default user of an image is created after ours. Its own group must not exist by then. */
function groupsInTheWay({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  const logins = new Set(users.map(({ name }) => name))
  const reason = VIRTUAL_MACHINE_REASONS.GroupsOfImage
  return users.flatMap(({ name, groups = '' }): SpecWarning[] => {
    const who = `user ${JSON.stringify(name)}`
    if (name === ROOT && groups !== '') {
      return [{ reason, message: `groups of ${who} are left out: this user is part of the image, with its groups` }]
    }
    const taken = groupsOf(groups).filter((group) => IMAGE_USERS.has(group) && !logins.has(group))
    if (taken.length === 0) return []
    const message = `${who} is in ${taken.join(', ')}, which is also the name of the default user of some images: then such an image does not get its default user`
    return [{ reason, message }]
  })
}

function lockedPasswords({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  return users.flatMap(({ name, plain_text_passwd, passwordSecretRef, lock_passwd = true }) => {
    const hasPassword = plain_text_passwd !== undefined || passwordSecretRef !== undefined
    if (!hasPassword || !lock_passwd) return []
    const message = `user ${JSON.stringify(name)} has a password and cannot log in with it: lock_passwd is true unless it is set to false`
    return [{ reason: VIRTUAL_MACHINE_REASONS.PasswordLocked, message }]
  })
}

/** User data may make a login, and a machine without users has those of its image. */
function nobodyLogsIn({
  users = [],
  userData,
  userDataSecretRef,
  sysprepSecretRef,
}: VirtualMachineSpec): SpecWarning[] {
  if (users.length === 0 || [userData, userDataSecretRef, sysprepSecretRef].some((one) => one !== undefined)) return []
  const hasLogin = users.some(
    ({ plain_text_passwd, passwordSecretRef, ssh_authorized_keys: keys = [] }) =>
      plain_text_passwd !== undefined || passwordSecretRef !== undefined || keys.length > 0,
  )
  if (hasLogin) return []
  const names = users.map(({ name }) => JSON.stringify(name)).join(', ')
  const message = `none of its users (${names}) can log in, since none has a password or a key: set passwordSecretRef with lock_passwd: false, or ssh_authorized_keys`
  return [{ reason: VIRTUAL_MACHINE_REASONS.NoLogin, message }]
}

function smallDisk({ resources }: VirtualMachineSpec, image: string | undefined): SpecWarning[] {
  const wanted = resources?.diskSize
  if (wanted === undefined || image === undefined || (compareQuantities(wanted, image) ?? 0) >= 0) return []
  const message = `the disk gets ${image}, the size of its image: resources.diskSize asks for less (${wanted})`
  return [{ reason: VIRTUAL_MACHINE_REASONS.DiskSmallerThanImage, message }]
}

/** KubeVirt's webhook accepts it, in the machine and in its instance (v1.9). Only the pod is refused. */
function noNode({ nodeSelector }: VirtualMachineSpec): SpecWarning[] {
  const [key] = keysOfNoLabel(nodeSelector)
  if (key === undefined) return []
  const message = `nodeSelector asks for the label ${JSON.stringify(key)}, which no node can have: a key has letters, digits, "-", "_" and ".", with a DNS name and "/" before it or without`
  return [{ reason: VIRTUAL_MACHINE_REASONS.NoSuchNodeLabel, message }]
}
