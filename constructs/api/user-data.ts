import { z } from 'zod'
import type { CelRule } from '../schema/cel.ts'
import type { OperatingSystem } from './machine-os.ts'
import { cel, dataKey, objectName, text } from './shared.ts'

/** Maximum number of characters of user data in a spec. More of it comes from a Secret. */
export const USER_DATA_MAX = 65_536

/** How user data begins, so that cloud-init knows what it is. The last two begin a MIME archive. */
export const USER_DATA_BEGINNINGS = [
  '#cloud-config',
  '#!',
  '#cloud-boothook',
  '#include',
  '#part-handler',
  '## template: jinja',
  'Content-Type:',
  'MIME-Version:',
] as const

/** How user data for Windows begins, so that cloudbase-init knows what it is, beside the archives. */
export const WINDOWS_USER_DATA_BEGINNINGS = [
  '#cloud-config',
  '#ps1',
  '#!',
  'rem cmd',
  '<powershell>',
  '<script>',
  'Content-Type:',
  'MIME-Version:',
] as const

const BEGINNINGS = { linux: USER_DATA_BEGINNINGS, windows: WINDOWS_USER_DATA_BEGINNINGS } as const
/** It begins like a cloud-config, and cloudbase-init does not know it. */
const LINUX_ARCHIVE = '#cloud-config-'

/** What `isUserData` asks for, as the rest of a sentence. */
export function asUserDataBegins(os: OperatingSystem = 'linux'): string {
  const reader = os === 'windows' ? 'cloudbase-init' : 'cloud-init'
  return `begin with one of ${BEGINNINGS[os].join(', ')}, without a blank or an empty line before it: ${reader} would not know what it is`
}

/**
 * Reports whether cloud-init, or cloudbase-init, knows this text by its first line. cloud-init would also accept blanks before it, and capitals. Calls that
 * do not depend on the length of the text keep the rules within the budget of the API server.
 */
export function isUserData(userData: string, os: OperatingSystem = 'linux'): boolean {
  if (os === 'windows' && userData.startsWith(LINUX_ARCHIVE)) return false
  return BEGINNINGS[os].some((beginning) => userData.startsWith(beginning))
}

const celBegins = (beginnings: readonly string[]) =>
  beginnings.map((beginning) => `self.userData.startsWith('${beginning}')`).join(' || ')
const IS_LINUX = "(!has(self.os) || self.os == 'linux')"

/** Whether the guest knows what its user data are. It depends on its system. */
const beginningRules: readonly CelRule<UserDataFields>[] = [
  {
    rule: `!has(self.userData) || !${IS_LINUX} || ${celBegins(USER_DATA_BEGINNINGS)}`,
    message: `userData must ${asUserDataBegins('linux')}`,
    field: 'userData',
    holds: ({ userData, os = 'linux' }) => userData === undefined || os !== 'linux' || isUserData(userData),
  },
  {
    rule: `!has(self.userData) || ${IS_LINUX} || !self.userData.startsWith('${LINUX_ARCHIVE}') && (${celBegins(WINDOWS_USER_DATA_BEGINNINGS)})`,
    message: `userData with os: windows must begin with one of ${WINDOWS_USER_DATA_BEGINNINGS.join(', ')}`,
    field: 'userData',
    holds: ({ userData, os = 'linux' }) => userData === undefined || os !== 'windows' || isUserData(userData, os),
  },
]

const userData = text('userData', USER_DATA_MAX)

/** Data for cloud-init beside that of the operator. The fields are the same for a machine and for one of a workspace. */
export const userDataFields = {
  userData: userData
    .describe(
      'Data for cloud-init in the guest (cloudbase-init with os: windows), beside that of the operator: a cloud-config, a script, a MIME archive, or anything ' +
        'else that it knows by its first line. For users, host name and network, the other fields hold. Read at the first start. Everyone who may read the object ' +
        'can read it. Default: none.',
    )
    .meta({ example: '#cloud-config\npackages: [tmux]\n' })
    .optional(),
  userDataSecretRef: z
    .object({
      name: objectName()
        .describe('Name of the Secret, in the namespace of the machine.')
        .meta({ example: 'first-start' }),
      key: dataKey('Secret').describe('Key in the Secret whose value is the data.').meta({ example: 'user-data' }),
    })
    .describe('Where the data for cloud-init is, instead of userData.')
    .optional(),
}

interface UserDataFields {
  readonly os?: OperatingSystem | undefined
  readonly userData?: string | undefined
  readonly userDataSecretRef?: object | undefined
}

/** Adds the rules that at most one of the two fields is there, and that the guest knows what it is. */
export function withOneUserData<Schema extends z.ZodType<UserDataFields>>(schema: Schema): Schema {
  return cel(schema, ...beginningRules, {
    rule: '!has(self.userData) || !has(self.userDataSecretRef)',
    message: 'userDataSecretRef must be left out where userData is set, and the other way round',
    field: 'userDataSecretRef',
    holds: (value: UserDataFields) => value.userData === undefined || value.userDataSecretRef === undefined,
  })
}
