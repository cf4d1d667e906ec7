import type { VirtualMachineUser } from '../api/virtual-machine.ts'
import { safeLogin } from '../api/virtual-machine-warnings.ts'
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
  const config = {
    hostname,
    // Without a password to log in with, it would only let people guess at those that the image brought.
    ssh_pwauth: users.some(hasPasswordLogin) || undefined,
    // Valid in every version only with an entry.
    users:
      users.length === 0
        ? undefined
        : ['default', ...users.map((user) => userEntry(user, safeLogin(user.name, names)))],
  }
  return `#cloud-config\n${cloudInitJson(config)}\n`
}

/** cloud-init locks the password unless told otherwise. */
function hasPasswordLogin({ plain_text_passwd, lock_passwd }: CloudInitUser): boolean {
  return Boolean(plain_text_passwd) && lock_passwd === false
}

function userEntry(user: CloudInitUser, login: string): object {
  return {
    name: login,
    gecos: login === user.name ? undefined : user.name,
    plain_text_passwd: user.plain_text_passwd || undefined,
    lock_passwd: user.lock_passwd,
    sudo: user.sudo || undefined,
    groups: user.groups || undefined,
    shell: '/bin/bash',
    // cloud-init refuses an empty list.
    ssh_authorized_keys: user.ssh_authorized_keys?.length ? user.ssh_authorized_keys : undefined,
  }
}
