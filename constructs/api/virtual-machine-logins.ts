import { shortHash } from './names.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/
const LOGIN_MAX = 32
const HASH_LENGTH = 8
/** To cloud-init it is the user that the image brings: settings under this name would become that one's. */
const DEFAULT = 'default'
/** It is in every image, and can be given a password, keys and a rule for sudo like any other. */
export const ROOT = 'root'

/**
 * Users and groups that images of Debian, Ubuntu, Fedora, RHEL, openSUSE and Alpine bring for the system. A system user cannot log in, and
 * cloud-init leaves one that exists as it is; a user with the name of a system group would get the rights of that group.
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

/** What images call the user that they bring. cloud-init makes it after all others. */
export const IMAGE_USERS: ReadonlySet<string> = new Set(
  [
    'almalinux alpine aosc arch azureuser bitnami centos clear cloud-user cloudlinux core debian ec2-user eurolinux fedora',
    'freebsd gentoo mariner miraclelinux netbsd omv openbsd openeuler opensuse oracle opc photon pi rhel rocky sles suse ubuntu virtuozzo',
  ].flatMap((line) => line.split(' ')),
)

/**
 * Login that Linux takes (`^[a-z_][a-z0-9_-]{0,31}$`) for the name of a user. A name that is one stays; `demo user` becomes
 * `demo-user`, and a name that images give to something else, such as `sudo` or `default`, becomes `user-sudo`. Different users of one
 * machine get different logins: where two would meet, those that had to change get a hash.
 * @param names names of all users of the machine, this one among them or not; their order does not matter
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

/** Why `safeLogin` changes a name, to be put behind "since". */
export function whyRenamed(name: string): string {
  if (name === DEFAULT) return 'cloud-init calls the user of the image so'
  return isReserved(name)
    ? 'images have a user or group of the system with this name'
    : 'Linux does not take the name as a login'
}

/** Names in a list of groups with commas between them. */
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

/** The nearest login, which several names can have in common. */
function plainLogin(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
  const safe = ascii.replace(/[^a-z0-9_]+/g, '-').replace(/^-+|-+$/g, '')
  const login = /^[a-z_]/.test(safe) && !isReserved(safe) ? safe : `user-${safe}`
  return login.slice(0, LOGIN_MAX).replace(/-+$/, '')
}
