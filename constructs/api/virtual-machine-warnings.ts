import { shortHash } from './names.ts'
import { compareQuantities } from './quantity.ts'
import type { VirtualMachineSpec } from './virtual-machine.ts'
import { VIRTUAL_MACHINE_REASONS, type VirtualMachineReason } from './virtual-machine-reasons.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/
/** To cloud-init it is the user that the image brings: settings under this name would become that one's. */
const IMAGE_USER = 'default'
const LOGIN_MAX = 32
const HASH_LENGTH = 8

/** Something that is accepted, and not rendered as it is written. */
export interface SpecWarning {
  readonly reason: VirtualMachineReason
  /** A sentence for people. Never holds a password. */
  readonly message: string
}

/**
 * What an author should know about a valid spec, in a fixed order. Empty where there is nothing to say.
 * @param imageSize size of the disk in the image, as a quantity: as it is, where that is known, or as the template has it
 */
export function warningsOf(
  spec: VirtualMachineSpec,
  imageSize = spec.vmDiskImageTemplate?.diskSize,
): readonly SpecWarning[] {
  return [...renamedLogins(spec), ...lockedPasswords(spec), ...smallDisk(spec, imageSize)]
}

function renamedLogins({ users = [] }: VirtualMachineSpec): SpecWarning[] {
  const names = users.map(({ name }) => name)
  return names.flatMap((name) => {
    const login = safeLogin(name, names)
    if (login === name) return []
    const why =
      name === IMAGE_USER ? 'cloud-init calls the user of the image so' : 'Linux does not take the name as a login'
    const message = `user ${JSON.stringify(name)} logs in as ${login}, since ${why}`
    return [{ reason: VIRTUAL_MACHINE_REASONS.LoginRenamed, message }]
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

function smallDisk({ resources }: VirtualMachineSpec, image: string | undefined): SpecWarning[] {
  const wanted = resources.diskSize
  if (wanted === undefined || image === undefined || (compareQuantities(wanted, image) ?? 0) >= 0) return []
  const message = `the disk gets ${image}, the size of its image: resources.diskSize asks for less (${wanted})`
  return [{ reason: VIRTUAL_MACHINE_REASONS.DiskSmallerThanImage, message }]
}

/**
 * Login that Linux takes (`^[a-z_][a-z0-9_-]{0,31}$`) for the name of a user. A name that is one stays; `demo user` becomes
 * `demo-user`, and `default`, which cloud-init calls the user of the image, `user-default`. Different users of one machine get
 * different logins: where two would meet, those that had to change get a hash.
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

function isLogin(name: string): boolean {
  return LOGIN.test(name) && name !== IMAGE_USER
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
  const login = /^[a-z_]/.test(safe) && safe !== IMAGE_USER ? safe : `user-${safe}`
  return login.slice(0, LOGIN_MAX).replace(/-+$/, '')
}
