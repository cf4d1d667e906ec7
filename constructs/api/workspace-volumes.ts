import { z } from 'zod'
import { cel, dnsLabel, listMap, matching } from './shared.ts'
import { diskSizeField } from './sizes.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

const PATH_MAX = 256
/** Directories that begin with one or two dots are hidden and valid. Those of only dots lead elsewhere and are not. */
const NAME = '[.]{0,2}[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*'
const PATH = `^(/${NAME})+/?$`
const RELATIVE = `^${NAME}(/${NAME})*/?$`
const RELATIVE_MAX = 128

/** One directory. Containers write its content: if there were a second one below it, a link in the first one could lead anywhere on the node. */
const FOLDER = '^/[.]{0,2}[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*/?$'

/** Path in a container, or below the folder of the workspace on a node. @param field name of the field, for the message */
export function absolutePath(field: string): z.ZodString {
  return matching(
    z.string().min(1).max(PATH_MAX),
    PATH,
    `${field} must be an absolute path such as /config/dns, without "..", of folders with letters, digits, ".", "_", "-", "+" and "@"`,
  )
}

/** Path within a volume. @param field name of the field, for the message */
export function relativePath(field: string): z.ZodString {
  return matching(
    z.string().min(1).max(RELATIVE_MAX),
    RELATIVE,
    `${field} must be a path in the volume such as db/data, without "/" at the beginning and without ".."`,
  )
}

const volume = z
  .object({
    name: cel(dnsLabel(), {
      rule: "self != 'ansible'",
      message:
        'name must not be ansible: that is the volume with the inventory and the plays, which every workspace has',
      holds: (name: string) => name !== 'ansible',
    })
      .describe('Name of the volume: of its claim, and what volumeMounts refer to.')
      .meta({ example: 'config' }),
    size: diskSizeField('Size of the volume as a quantity such as 1Gi.', 'size'),
    localPath: matching(
      z.string().min(1).max(PATH_MAX),
      FOLDER,
      'localPath must be one folder such as /config, of letters, digits, ".", "_", "-", "+" and "@", without another "/"',
    )
      .describe(
        'Where the policy key localVolumeRoot is set: folder of the volume on its node, below <localVolumeRoot>/<workspace>. Otherwise it is an ' +
          'annotation of the claim and nothing else.',
      )
      .meta({ example: '/config' })
      .optional(),
  })
  .describe('One volume.')

export const volumes = listMap(
  z.array(volume).max(WORKSPACE_LIMITS.volumes),
  'name',
  'Volumes of the workspace. One that no container mounts is made too.',
)
