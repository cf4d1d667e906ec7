import { addressingOf } from './interface-words.ts'
import type { SpecWarning } from './spec-warning.ts'
import type { VirtualMachineSpec, VirtualMachineUser } from './virtual-machine.ts'
import { groupsOf } from './virtual-machine-logins.ts'
import { VIRTUAL_MACHINE_REASONS } from './virtual-machine-reasons.ts'

/** The account that every Windows has, by its English name. */
const ADMINISTRATOR = 'administrator'
/** Accounts that an image may have told cloudbase-init to make: its own default, and what people write there. */
const OF_IMAGE: ReadonlySet<string> = new Set(['admin', ADMINISTRATOR])
const ADMINISTRATORS = 'administrators'
const HOST_NAME_MAX = 15
/** What the password policy of a new Windows Server asks for: this many characters, of three of four kinds. */
const PASSWORD_MIN = 7
const KINDS = [/\p{Lu}/u, /\p{Ll}/u, /\d/, /[^\p{L}\d]/u]

const { WindowsGuest, WindowsLogin } = VIRTUAL_MACHINE_REASONS
const who = ({ name }: VirtualMachineUser) => `user ${JSON.stringify(name)}`

/** Returns what a user who is called as on Windows tells of a machine that is not to be one. */
export function windowsNames({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  return users
    .filter(({ name }) => name.toLowerCase() === ADMINISTRATOR)
    .map((user) => ({
      reason: WindowsLogin,
      message: `${who(user)} is the administrator of Windows, which is set up only with os: windows: without it, nobody can log in to such a guest`,
    }))
}

/** Returns what may keep the users of a Windows guest from logging in. */
export function windowsLogins({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  const accounts = users.map(({ name }) => name.toLowerCase())
  return users.flatMap((user, at) =>
    [
      ...(accounts.indexOf(user.name.toLowerCase()) < at
        ? [`${who(user)} is the same account as another user, since Windows does not tell capitals apart`]
        : []),
      ...ofImage(user),
      ...weakPassword(user),
      ...keysOfAdministrator(user),
    ].map((message) => ({ reason: WindowsLogin, message })),
  )
}

function hasPassword({ plain_text_passwd, passwordSecretRef, lock_passwd }: VirtualMachineUser): boolean {
  return lock_passwd === false && (plain_text_passwd !== undefined || passwordSecretRef !== undefined)
}

/** cloudbase-init gives its own user a random password after it has made those of the user data. */
function ofImage(user: VirtualMachineUser): string[] {
  if (!OF_IMAGE.has(user.name.toLowerCase()) || !hasPassword(user)) return []
  return [
    `${who(user)} gets a random password in the end if username in cloudbase-init.conf of the image is ${user.name} too: it must be another there (Admin is the default)`,
  ]
}

/** A password in a Secret is not checked here. */
function weakPassword(user: VirtualMachineUser): string[] {
  const { name, plain_text_passwd: password = '' } = user
  if (password === '' || !hasPassword(user)) return []
  const kinds = KINDS.filter((kind) => kind.test(password)).length
  const hasName = name.length > 2 && password.toLowerCase().includes(name.toLowerCase())
  if ([...password].length >= PASSWORD_MIN && kinds >= 3 && !hasName) return []
  return [
    `${who(user)} has a password that Windows Server refuses by default, and then there is no such user: it must have ${PASSWORD_MIN} characters, of three of the kinds capitals, small letters, digits and others, and not the name of the user`,
  ]
}

function keysOfAdministrator(user: VirtualMachineUser): string[] {
  const isAdministrator =
    user.name.toLowerCase() === ADMINISTRATOR || groupsOf(user.groups ?? '').includes(ADMINISTRATORS)
  if (!isAdministrator || !user.ssh_authorized_keys?.length) return []
  return [
    `${who(user)} is an administrator, whose keys OpenSSH for Windows looks for in C:\\ProgramData\\ssh\\administrators_authorized_keys, and not where cloudbase-init puts them: change its sshd_config in the image, or write that file by userData`,
  ]
}

/** Returns what is not in a Windows guest as the spec says. */
export function windowsGuest({ name, interfaces = [], hostAliases = [] }: VirtualMachineSpec): SpecWarning[] {
  const silent = interfaces.filter((nic) => addressingOf(nic) === 'none').map(({ network }) => network)
  return [
    ...hostNameWarnings(name),
    ...(hostAliases.length > 0 ? ['hostAliases do not reach Windows: write the names by userData'] : []),
    ...(silent.length === 0
      ? []
      : [
          `addressing: none of ${silent.join(', ')} has no effect: Windows asks a DHCP server there until somebody tells it otherwise`,
        ]),
  ].map((message) => ({ reason: WindowsGuest, message }))
}

function hostNameWarnings(name = ''): string[] {
  if (name.length > HOST_NAME_MAX)
    return [
      `the guest is called ${name.slice(0, HOST_NAME_MAX).replace(/-$/, '0')}, since cloudbase-init shortens a host name to ${HOST_NAME_MAX} characters: choose a shorter name`,
    ]
  return /^\d+$/.test(name) ? [`Windows takes no host name of digits alone, such as ${name}: choose another name`] : []
}
