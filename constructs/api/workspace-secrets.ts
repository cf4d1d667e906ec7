import { z } from 'zod'
import { cel, listMap, matching, objectName } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

/** What the Secret with the cloud-init data of a machine ends with (`vmChildNames`). */
const OF_MACHINES = '-cloudinit'

/** Characters of a generated value whose `length` is not given. */
export const GENERATED_LENGTH = 24

const generated = z
  .object({
    key: matching(
      z.string().min(1).max(253),
      '^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$',
      'must be a key of a Secret: letters, digits, "-", "_" and ".", and no "." first',
    ).describe('Key of the Secret whose value is made.'),
    length: z
      .int()
      .min(8)
      .max(128)
      .describe(`Characters of the value, from 8 to 128. Default: ${GENERATED_LENGTH}.`)
      .optional(),
  })
  .describe('One random value.')

const secret = z
  .object({
    name: cel(objectName(), {
      rule: `!self.endsWith('${OF_MACHINES}')`,
      message: `name must not end with ${OF_MACHINES}: Secrets with such names have the cloud-init data of machines`,
      holds: (name: string) => !name.endsWith(OF_MACHINES),
    }).describe('Name of the Secret in the namespace of the workspace.'),
    generate: listMap(
      z.array(generated).min(1).max(WORKSPACE_LIMITS.secretKeys),
      'key',
      'Keys of the Secret, each with a random value: ASCII letters and digits without 0, O, 1, I and l, a letter first, with at least one capital letter, one small letter and one digit. ' +
        'A value is made once, and never changed. A key that is added is made beside the others; one that is removed from here stays in the Secret.',
    ),
  })
  .describe('One Secret.')

export const secrets = listMap(
  z.array(secret).max(WORKSPACE_LIMITS.secrets),
  'name',
  'Secrets that the operator makes in the namespace of the workspace, before the members that name them. Default: none.',
)
