import { z } from 'zod'
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

/** What `isUserData` asks for, as the rest of a sentence. */
export const BEGINS_AS_USER_DATA = `begin with one of ${USER_DATA_BEGINNINGS.join(', ')}, without a blank or an empty line before it: cloud-init would not know what it is`

/**
 * Reports whether cloud-init knows this text by its first line. It would also accept blanks before it, and capitals. Calls that do not depend on the
 * length of the text keep the rule within the budget of the API server.
 */
export function isUserData(userData: string): boolean {
  return USER_DATA_BEGINNINGS.some((beginning) => userData.startsWith(beginning))
}

const userData = cel(text('userData', USER_DATA_MAX), {
  rule: USER_DATA_BEGINNINGS.map((beginning) => `self.startsWith('${beginning}')`).join(' || '),
  message: `userData must ${BEGINS_AS_USER_DATA}`,
  holds: isUserData,
})

/** Data for cloud-init beside that of the operator. The fields are the same for a machine and for one of a workspace. */
export const userDataFields = {
  userData: userData
    .describe(
      'Data for cloud-init in the guest, beside that of the operator: a cloud-config, a script, a MIME archive, or anything else that cloud-init knows by ' +
        'its first line. For users, host name and network, the other fields hold. Read at the first start. Everyone who may read the object can read ' +
        'it. Default: none.',
    )
    .optional(),
  userDataSecretRef: z
    .object({
      name: objectName().describe('Name of the Secret, in the namespace of the machine.'),
      key: dataKey('Secret').describe('Key in the Secret whose value is the data.'),
    })
    .describe('Where the data for cloud-init is, instead of userData.')
    .optional(),
}

interface UserDataFields {
  readonly userData?: string | undefined
  readonly userDataSecretRef?: object | undefined
}

/** Adds the rule that at most one of the two fields is there. */
export function withOneUserData<Schema extends z.ZodType<UserDataFields>>(schema: Schema): Schema {
  return cel(schema, {
    rule: '!has(self.userData) || !has(self.userDataSecretRef)',
    message: 'userDataSecretRef must be left out where userData is set, and the other way round',
    field: 'userDataSecretRef',
    holds: (value: UserDataFields) => value.userData === undefined || value.userDataSecretRef === undefined,
  })
}
