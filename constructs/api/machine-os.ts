import { z } from 'zod'
import { type CelRule, celMatches } from '../schema/cel.ts'

/** Kinds of operating systems, by how a guest is set up at its first start. */
export const OPERATING_SYSTEMS = ['linux', 'windows'] as const
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number]

/** Characters that cloudbase-init takes as a password at most: it does not make a user with a longer one. */
export const WINDOWS_PASSWORD_MAX = 20

/** What Windows takes as the name of a local account. Without a blank or a dot at its end. */
const ACCOUNT = '^[^"/\\\\\\[\\]:;|=,+*?<>@]{0,19}[^"/\\\\\\[\\]:;|=,+*?<>@. ]$'
/** Characters are counted as the API server counts them. */
const ACCOUNT_FORM = new RegExp(ACCOUNT, 'u')

/** The system of the guest. The fields are the same for a machine and for one of a workspace. */
export const osFields = {
  os: z
    .enum(OPERATING_SYSTEMS)
    .describe(
      'System of the guest. windows: cloudbase-init sets it up in place of cloud-init, and it gets the hardware that KubeVirt has for Windows. Default: linux.',
    )
    .optional(),
  sysprepSecretRef: z
    .object({
      // KubeVirt says so if there is none of this name.
      name: z
        .string()
        .min(1)
        .max(253)
        .describe('Name of the Secret, with the key Autounattend.xml or Unattend.xml.')
        .meta({ example: 'answers' }),
    })
    .describe('Answer file for the setup of Windows, on a CD-ROM. Default: none.')
    .optional(),
}

interface OsFields {
  readonly os?: OperatingSystem | undefined
  readonly sysprepSecretRef?: object | undefined
  readonly readiness?: { readonly cloudInit?: boolean | undefined } | undefined
  readonly users?:
    | readonly { readonly name: string; readonly sudo?: string; readonly plain_text_passwd?: string }[]
    | undefined
}

const IS_WINDOWS = "has(self.os) && self.os == 'windows'"
/** In front of what must hold for each user of a Windows guest. */
const EACH_USER = `!(${IS_WINDOWS}) || !has(self.users) || self.users.all(one, `

export function isWindows({ os }: Pick<OsFields, 'os'>): boolean {
  return os === 'windows'
}

type Users = NonNullable<OsFields['users']>

function ofWindowsUsers(test: string, message: string, holds: (user: Users[number]) => boolean): CelRule<OsFields> {
  return {
    rule: `${EACH_USER}${test})`,
    message,
    field: 'users',
    holds: (value) => !isWindows(value) || (value.users ?? []).every(holds),
  }
}

/** What cannot work in a guest of that system. */
export const osRules: readonly CelRule<OsFields>[] = [
  ofWindowsUsers(
    '!has(one.sudo)',
    'sudo must be left out with os: windows: use groups: administrators',
    ({ sudo }) => sudo === undefined,
  ),
  ofWindowsUsers(
    celMatches('one.name', ACCOUNT),
    'names of users with os: windows must have at most 20 characters, none of "/\\[]:;|=,+*?<>@, and no dot or blank at the end',
    ({ name }) => ACCOUNT_FORM.test(name),
  ),
  ofWindowsUsers(
    `!has(one.plain_text_passwd) || one.plain_text_passwd.size() <= ${WINDOWS_PASSWORD_MAX}`,
    `plain_text_passwd must have at most ${WINDOWS_PASSWORD_MAX} characters with os: windows: cloudbase-init makes no user with a longer one`,
    ({ plain_text_passwd = '' }) => [...plain_text_passwd].length <= WINDOWS_PASSWORD_MAX,
  ),
  {
    rule: `!has(self.sysprepSecretRef) || ${IS_WINDOWS}`,
    message: 'sysprepSecretRef must be left out without os: windows',
    field: 'sysprepSecretRef',
    holds: (value) => value.sysprepSecretRef === undefined || isWindows(value),
  },
  {
    rule: `!(${IS_WINDOWS}) || !has(self.readiness) || !has(self.readiness.cloudInit)`,
    message: 'cloudInit must be left out with os: windows: use guestAgent or tcpPort',
    field: 'readiness',
    holds: (value) => !isWindows(value) || value.readiness?.cloudInit === undefined,
  },
]
