import type { VirtualMachineUser } from '../api/virtual-machine.ts'
import { groupsOf, ROOT, safeLogin } from '../api/virtual-machine-logins.ts'
import { cloudInitJson } from './cloud-init-json.ts'
import { joinedUserData } from './user-data-archive.ts'

/** A user of the spec. The password that `passwordSecretRef` refers to has been read and put into `plain_text_passwd`. */
export interface CloudInitUser extends Omit<VirtualMachineUser, 'passwordSecretRef' | 'ssh_authorized_keys'> {
  readonly ssh_authorized_keys?: readonly string[] | undefined
}

export interface UserDataProps {
  /** DNS-1123 label. */
  readonly hostname: string
  readonly users?: readonly CloudInitUser[]
  /** User data of the spec, or of the Secret that it names: `isUserData` holds for it. */
  readonly userData?: string | undefined
}

/**
 * Returns cloud-init user data: the header and one line of JSON, so that nothing needs quotes; with user data of the spec, an archive of that and of
 * this. The default user of the image is kept. The result contains passwords and must only be stored in the Secret.
 */
export function renderUserData({ userData, ...props }: UserDataProps): string {
  if (userData === undefined) return cloudConfig(imageConfig(props))
  return joinedUserData(userData, cloudConfig(ownConfig(props)))
}

/** What the spec decides where there is user data beside it: it holds whatever that says. */
export function ownConfig(props: Omit<UserDataProps, 'userData'>) {
  return {
    ...imageConfig(props),
    // Else the guest would have the name of the image, or in some distributions the fqdn of the user data.
    preserve_hostname: false,
    prefer_fqdn_over_hostname: false,
  }
}

function imageConfig({ hostname, users = [] }: Omit<UserDataProps, 'userData'>) {
  const names = users.map(({ name }) => name)
  const entries = users.map((user) => userEntry(user, safeLogin(user.name, names)))
  const passwords = users.flatMap((user, at) => (hasPasswordLogin(user) ? [passwordOf(user, entries[at]?.name)] : []))
  return {
    hostname,
    // Without a password to log in with, it would only let people guess the passwords that the image has.
    ssh_pwauth: passwords.length > 0 || undefined,
    // Without an entry it is not valid in every version of cloud-init.
    users: entries.length === 0 ? undefined : ['default', ...entries],
    // Most versions of cloud-init keep the password of the image's default user locked, whatever `users` says.
    chpasswd: passwords.length === 0 ? undefined : { expire: false, users: passwords },
  }
}

export function cloudConfig(config: object): string {
  return `#cloud-config\n${cloudInitJson(config)}\n`
}

/** cloud-init locks the password by default. */
export function hasPasswordLogin({ plain_text_passwd, lock_passwd }: CloudInitUser): boolean {
  return Boolean(plain_text_passwd) && lock_passwd === false
}

function passwordOf({ plain_text_passwd }: CloudInitUser, name: string | undefined): object {
  return { name, password: plain_text_passwd, type: 'text' }
}

function userEntry(user: CloudInitUser, login: string) {
  return {
    name: login,
    gecos: login === user.name ? undefined : user.name,
    plain_text_passwd: user.plain_text_passwd || undefined,
    lock_passwd: user.lock_passwd,
    sudo: user.sudo || undefined,
    ...membership(login, user.groups),
    shell: '/bin/bash',
    // cloud-init refuses an empty list.
    ssh_authorized_keys: user.ssh_authorized_keys?.length ? user.ssh_authorized_keys : undefined,
  }
}

/**
 * useradd creates a group for each user, and fails if that group exists, either in the image or because an earlier user is in it. cloud-init then
 * skips all later users. So the group is set explicitly: cloud-init creates it if it is missing, but only for users with `groups`.
 */
function membership(login: string, groups = ''): object {
  // root exists already, with its groups.
  if (login === ROOT) return {}
  const all = new Set([login, ...groupsOf(groups)])
  return { primary_group: login, groups: [...all].join(',') }
}
