import { shortHash } from './names.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/
const LOGIN_MAX = 32
const HASH_LENGTH = 8
/** For cloud-init this is the default user of the image: settings under this name would apply to that user. */
const DEFAULT = 'default'
/** Exists in every image, and can have a password, keys and a sudo rule like any other user. */
export const ROOT = 'root'

/**
 * System users and groups in images of Debian, Ubuntu, Fedora, RHEL, openSUSE and Alpine. A system user cannot log in, and cloud-init does not change
 * an existing one. A user with the name of a system group would get the rights of that group.
 */
const SYSTEM_NAMES: ReadonlySet<string> = new Set(
  [
    'abuild adm at audio avahi backup bin cdrom cdrw chrony cockpit-ws console cron crontab cyrus daemon dbus dhcpcd dialout dip disk',
    'fax floppy ftp fwupd-refresh games gnats guest halt input irc kmem kvm landscape list locate lock lp lxd mail maildrop man mem',
    'messagebus modem netdev news nobody nofiles nogroup nscd ntp operator ping plugdev polkitd pollinate postfix postmaster proxy public',
    'rdma readproc render rpc rpcuser rtkit sasl setroubleshoot sgx shadow shutdown smmsp src squid ssh ssh_keys sshd ssl-cert sssd staff',
    'sudo svn sync sys syslog tape tcpdump trusted tss tty unbound usb usbmux users utempter utmp uucp uuidd video voice vpopmail wheel',
    'www-data wwwrun xfs xok _apt _chrony _ssh',
  ].flatMap((line) => line.split(' ')),
)
const SYSTEM_PREFIX = 'systemd-'

/** Names of the default users of images. cloud-init creates the default user after all other users. */
export const IMAGE_USERS: ReadonlySet<string> = new Set(
  [
    'almalinux alpine aosc arch azureuser bitnami centos clear cloud-user cloudlinux core debian ec2-user eurolinux fedora',
    'freebsd gentoo mariner miraclelinux netbsd omv openbsd openeuler opensuse oracle opc photon pi rhel rocky sles suse ubuntu virtuozzo',
  ].flatMap((line) => line.split(' ')),
)

/**
 * Returns a valid Linux login (`^[a-z_][a-z0-9_-]{0,31}$`) for the name of a user. A valid login stays unchanged. `demo user` becomes `demo-user`,
 * and names that images use for something else, such as `sudo` and `default`, get a prefix: `user-sudo`. Different users of a machine get different
 * logins: if two would be equal, those that had to change get a hash.
 * @param names names of all users of the machine, with or without this one, in any order
 */
export function safeLogin(name: string, names: readonly string[]): string {
  const others = new Set([...names, name].filter((other) => !isLogin(other)))
  const plain = [...others].map(plainLogin)
  const taken = new Set(names.filter(isLogin))
  for (const other of [...others].toSorted()) {
    const login = freeLogin(other, plain, taken)
    if (other === name) return login
    taken.add(login)
  }
  return name
}

/** Returns why `safeLogin` changes a name, as text that follows "since". */
export function whyRenamed(name: string): string {
  if (name === DEFAULT) return 'cloud-init calls the user of the image so'
  return isReserved(name)
    ? 'images have a user or group of the system with this name'
    : 'Linux does not take the name as a login'
}

/** Returns the names in a comma-separated list of groups. */
export function groupsOf(groups: string): string[] {
  return groups.split(',').flatMap((group) => group.trim() || [])
}

function isLogin(name: string): boolean {
  return LOGIN.test(name) && !isReserved(name)
}

function isReserved(name: string): boolean {
  return name === DEFAULT || SYSTEM_NAMES.has(name) || name.startsWith(SYSTEM_PREFIX)
}

function freeLogin(name: string, plain: readonly string[], taken: ReadonlySet<string>): string {
  const login = plainLogin(name)
  const isSole = plain.filter((other) => other === login).length === 1
  if (isSole && !taken.has(login)) return login
  const head = login.slice(0, LOGIN_MAX - HASH_LENGTH - 1).replace(/-+$/, '')
  for (let round = 0; ; round += 1) {
    const hashed = `${head}-${shortHash([name, String(round)])}`
    if (!taken.has(hashed)) return hashed
  }
}

/** Returns the closest valid login. Several names can have the same. */
function plainLogin(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
  const safe = ascii.replace(/[^a-z0-9_]+/g, '-').replace(/^-+|-+$/g, '')
  const login = /^[a-z_]/.test(safe) && !isReserved(safe) ? safe : `user-${safe}`
  return login.slice(0, LOGIN_MAX).replace(/-+$/, '')
}
