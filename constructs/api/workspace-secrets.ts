import { z } from 'zod'
import { cel, listMap, matching, objectName } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

/** What the Secret with the cloud-init data of a machine ends with (`vmChildNames`). */
const OF_MACHINES = '-cloudinit'

/** Characters of a generated value whose `length` is not given. */
export const GENERATED_LENGTH = 24

/**
 * Types of Secrets that workspaces may have copies of. Tokens of ServiceAccounts and for bootstrapping, and what tools keep in types of their own, such as
 * releases of Helm, are never copied.
 */
export const COPIED_TYPES = [
  'Opaque',
  'kubernetes.io/dockerconfigjson',
  'kubernetes.io/dockercfg',
  'kubernetes.io/tls',
  'kubernetes.io/basic-auth',
  'kubernetes.io/ssh-auth',
] as const
export type CopiedType = (typeof COPIED_TYPES)[number]

/** Name of the ValidatingAdmissionPolicy, and of its binding, that checks who may have a Secret copied. */
export const SECRET_COPY_RULE = 'open-terrain-secret-copies'

const generated = z
  .object({
    key: matching(
      z.string().min(1).max(253),
      '^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$',
      'must be a key of a Secret: letters, digits, "-", "_" and ".", and no "." first',
    )
      .describe('Key of the Secret whose value is made.')
      .meta({ example: 'alice' }),
    length: z
      .int()
      .min(8)
      .max(128)
      .describe(`Characters of the value, from 8 to 128. Default: ${GENERATED_LENGTH}.`)
      .meta({ example: 12 })
      .optional(),
  })
  .describe('One random value.')

/** A name that no object can have is no name of a Secret that is there: the operator says so, which costs the API server no rule. */
const source = z
  .object({
    namespace: z
      .string()
      .max(63)
      .describe('One that the policy key sharedSecretNamespaces lists.')
      .meta({ example: 'registry-logins' }),
    name: z.string().max(253).describe('Its name.').meta({ example: 'registry-login' }),
  })
  .describe(
    'It is a copy of this one, and follows it. Its owner labels it pelotech.ot/shared: "true"; who writes this needs the right to get it.',
  )

const fields = z.object({
  name: cel(objectName(), {
    rule: `!self.endsWith('${OF_MACHINES}')`,
    message: `name must not end with ${OF_MACHINES}: Secrets with such names have the cloud-init data of machines`,
    holds: (name: string) => !name.endsWith(OF_MACHINES),
  })
    .describe('Name of the Secret in the namespace of the workspace.')
    .meta({ example: 'students' }),
  generate: listMap(
    z.array(generated).min(1).max(WORKSPACE_LIMITS.secretKeys),
    'key',
    'Keys of the Secret, each with a random value: ASCII letters and digits without 0, O, 1, I and l, a letter first, with at least one capital letter, one small letter and one digit. ' +
      'A value is made once, and never changed. A key that is added is made beside the others; one that is removed from here stays in the Secret.',
  ).optional(),
  from: source.optional(),
})

const secret = cel(fields, {
  rule: 'has(self.generate) != has(self.from)',
  message: 'must have generate or from',
  holds: ({ generate, from }) => (generate === undefined) !== (from === undefined),
}).describe('One Secret.')

export const secrets = listMap(
  z.array(secret).max(WORKSPACE_LIMITS.secrets),
  'name',
  'Secrets that the operator makes in the namespace of the workspace, before the members that name them. Default: none.',
)

type Secret = z.output<typeof fields>
/** An entry of `secrets` whose values the operator makes. */
export type GeneratedWorkspaceSecret = Secret & Required<Pick<Secret, 'generate'>>
/** An entry of `secrets` that is a copy. */
export type CopiedWorkspaceSecret = Secret & Required<Pick<Secret, 'from'>>

export function isGeneratedSecret(secret: Secret): secret is GeneratedWorkspaceSecret {
  return secret.generate !== undefined
}

export function isCopiedSecret(secret: Secret): secret is CopiedWorkspaceSecret {
  return secret.from !== undefined
}
