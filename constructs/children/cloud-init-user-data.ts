import type { VirtualMachineUser } from '../api/virtual-machine.ts'
import { groupsOf, ROOT, safeLogin } from '../api/virtual-machine-logins.ts'
import { cloudInitJson } from './cloud-init-json.ts'

/** A user of the spec, with the password that a `passwordSecretRef` leads to looked up and put into `plain_text_passwd`. */
export type CloudInitUser = Omit<VirtualMachineUser, 'passwordSecretRef'>

export interface UserDataProps {
  /** DNS-1123 label. */
  readonly hostname: string
  readonly users?: readonly CloudInitUser[]
}

/**
 * cloud-init user data: the header and one line of JSON, which leaves nothing to quote. The image's own default user stays. Text
 * in, text out: contains passwords, for the Secret alone.
 */
export function renderUserData({ hostname, users = [] }: UserDataProps): string {
  const names = users.map(({ name }) => name)
  const entries = users.map((user) => userEntry(user, safeLogin(user.name, names)))
  const passwords = users.flatMap((user, at) => (hasPasswordLogin(user) ? [passwordOf(user, entries[at]?.name)] : []))
  const config = {
    hostname,
    // Without a password to log in with, it would only let people guess at those that the image brought.
    ssh_pwauth: passwords.length > 0 || undefined,
    // Valid in every version only with an entry.
    users: entries.length === 0 ? undefined : ['default', ...entries],
    // Most versions of cloud-init keep the password of the image's own user locked, whatever `users` says of it.
    chpasswd: passwords.length === 0 ? undefined : { expire: false, users: passwords },
  }
  return `#cloud-config\n${cloudInitJson(config)}\n`
}

/** cloud-init locks the password unless told otherwise. */
function hasPasswordLogin({ plain_text_passwd, lock_passwd }: CloudInitUser): boolean {
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
 * useradd makes a group for each user, and refuses one where that group is there already: from the image, or since it is one of the groups
 * of an earlier user; with it cloud-init gives up all users that follow. So the group is named: cloud-init makes it where it is missing,
 * and only of users with `groups`.
 */
function membership(login: string, groups = ''): object {
  // It is there already, with its groups.
  if (login === ROOT) return {}
  const all = new Set([login, ...groupsOf(groups)])
  return { primary_group: login, groups: [...all].join(',') }
}
