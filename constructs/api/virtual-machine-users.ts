import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { cel, dataKey, maybeFlag, objectName, text } from './shared.ts'

/** Maximum number of users of a machine, of keys of a user, and of characters of a key. */
interface UserLimits {
  readonly users: number
  readonly keys: number
  readonly keyLength: number
}

/**
 * Characters that end a line or a text for YAML, for the tools of the guest or for a terminal: C0, DEL, C1, the line and paragraph separators, the
 * byte order mark and two characters that YAML forbids. The escapes mean the same in CEL and in JavaScript.
 */
const CONTROL = '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff\\ufffe\\uffff]'
/** Group names that groupadd accepts in every distribution. If it refuses one, this user and all later users are missing. */
const GROUP_NAME = '[a-z_][-a-z0-9_]{0,31}'
const PATTERNS = {
  groups: `^${GROUP_NAME}( *, *${GROUP_NAME})*$`,
  /** Options, key type, the key itself in base64, comment: as one line of authorized_keys. */
  sshKey: '^([!"$-~][ -~]* )?(ssh|ecdsa|sk)-[a-z0-9@.-]+ +AAAA[0-9A-Za-z+/]+={0,3}( [ -~]*)?$',
} as const

/** One line of text without control characters. */
function line(field: string, max: number): z.ZodString {
  return cel(text(field, max), {
    rule: `!self.matches('${CONTROL}')`,
    message: `${field} must be one line without control characters`,
    holds: (value: string) => !new RegExp(CONTROL).test(value),
  })
}

const passwordSecretRef = z
  .object({
    name: objectName()
      .describe('Name of the Secret, in the namespace of the virtual machine.')
      .meta({ example: 'students' }),
    key: dataKey('Secret').describe('Key in the Secret whose value is the password.').meta({ example: 'alice' }),
  })
  .describe('Where the password is, instead of plain_text_passwd.')

const userFields = (limits: UserLimits) =>
  z.object({
    name: cel(line('name', 64), {
      rule: "!self.contains(':')",
      message: 'name must not contain ":", which ends a field in the list of users of the guest',
      holds: (name: string) => !name.includes(':'),
    }).describe(
      'Name of the user. If Linux does not accept it as a login, as with demo user, the login is derived from it (demo-user), and the name ' +
        'becomes the full name. The same applies to names that images have for system users and groups, such as sudo (user-sudo), and to ' +
        'default (user-default), the name that cloud-init has for the default user of the image.',
    ),
    plain_text_passwd: line('plain_text_passwd', 256)
      .describe('Password. Everyone who may read the virtual machine can read it: prefer passwordSecretRef.')
      .meta({ example: 'Summer-2026' })
      .optional(),
    passwordSecretRef: passwordSecretRef.optional(),
    lock_passwd: maybeFlag(
      'True: no login with a password. Set it to false together with a password. Default: true, as in cloud-init.',
    ),
    sudo: line('sudo', 512).describe('Rule for sudo, such as ALL=(ALL) NOPASSWD:ALL. Default: none.').optional(),
    groups: cel(z.string().min(1).max(1024), {
      rule: celMatches('self', PATTERNS.groups),
      message:
        'groups must be names of groups with commas between them, such as sudo,docker: each of lower-case letters, digits, "-" and "_", ' +
        'at most 32, with a letter or "_" first',
      holds: (groups: string) => new RegExp(PATTERNS.groups).test(groups),
    })
      .describe('Further groups of the user with commas between them, such as sudo,docker.')
      .optional(),
    ssh_authorized_keys: z
      .array(
        cel(z.string().min(1).max(limits.keyLength), {
          rule: celMatches('self', PATTERNS.sshKey),
          message:
            'ssh_authorized_keys must hold public keys in one line of ASCII each, such as ssh-ed25519 AAAA... comment',
          holds: (key: string) => new RegExp(PATTERNS.sshKey).test(key),
        })
          .describe('One public key, as in the file authorized_keys.')
          .meta({ example: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO alice' }),
      )
      .max(limits.keys)
      .describe('Public keys that the user may log in with.')
      .optional(),
  })

type UserFields = z.output<ReturnType<typeof userFields>>

/** Users of the guest, in addition to the default user of its image. */
export function usersField(limits: UserLimits) {
  const user = cel(userFields(limits), {
    rule: '!has(self.plain_text_passwd) || !has(self.passwordSecretRef)',
    message: 'passwordSecretRef must be left out where plain_text_passwd is set, and the other way round',
    field: 'passwordSecretRef',
    holds: ({ plain_text_passwd, passwordSecretRef }: UserFields) =>
      plain_text_passwd === undefined || passwordSecretRef === undefined,
  }).describe('One user of the guest, in the terms of cloud-init.')

  return cel(
    z
      .array(user)
      .max(limits.users)
      .describe('Users of the guest, in addition to the default user of the image. Default: none.'),
    {
      rule: 'self.all(one, self.exists_one(other, other.name == one.name))',
      message: 'users must have different names: name every user only once',
      holds: (list: readonly UserFields[]) => new Set(list.map(({ name }) => name)).size === list.length,
    },
  )
}
