import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { textMap } from '../schema/text-map.ts'
import { cel, DNS_SUBDOMAIN, matching } from './shared.ts'

const TOLERATION_OPERATORS = ['Exists', 'Equal'] as const
const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

/** Labels and taints that are asked for; more only make rules dear. */
const SELECTORS_MAX = 16
const TOLERATIONS_MAX = 16

/** A DNS name, "/" and a name. */
const KEY_MAX = 317

/** Empty, or as a label has it. */
const MAYBE_LABEL_VALUE = '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'
const LABEL_NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const LABEL_KEY = `^(${DNS_SUBDOMAIN.slice(1, -1)}/)?${LABEL_NAME}$`

const VALUE_FORM =
  'must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends, or empty'
const isLabelValue = (value: string) => new RegExp(MAYBE_LABEL_VALUE).test(value)

/** Returns the keys that no label of a node can have. The API server cannot check them: its budget for rules knows no bound of a key. */
export function keysOfNoLabel(selector: Readonly<Record<string, string>> = {}): string[] {
  return Object.keys(selector).filter((key) => !new RegExp(LABEL_KEY).test(key))
}

const tolerationFields = z.object({
  key: matching(
    z.string().min(1).max(KEY_MAX),
    LABEL_KEY,
    'must be the key of a taint such as example.com/lab: letters, digits, "-", "_" and ".", with a DNS name and "/" before it or without',
  )
    .describe('Key of the taint. Default: every key, which needs operator Exists.')
    .meta({ example: 'dedicated' })
    .optional(),
  operator: z
    .enum(TOLERATION_OPERATORS)
    .describe('Exists: whatever the value of the taint is. Equal: only that value. Default: Equal.')
    .optional(),
  value: matching(z.string().max(63), MAYBE_LABEL_VALUE, VALUE_FORM)
    .describe('Value of the taint. Not with operator Exists. Default: the empty one.')
    .meta({ example: 'labs' })
    .optional(),
  effect: z.enum(TAINT_EFFECTS).describe('Effect of the taint. Default: every effect.').optional(),
  tolerationSeconds: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .describe('Seconds that the taint is tolerated. Only with effect NoExecute. Default: for ever.')
    .meta({ example: 300 })
    .optional(),
})

type TolerationFields = z.output<typeof tolerationFields>

const toleration = cel(
  tolerationFields,
  {
    rule: "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
    message: 'operator must be Exists where key is left out: every taint is tolerated then',
    field: 'operator',
    holds: ({ key, operator }: TolerationFields) => key !== undefined || operator === 'Exists',
  },
  {
    rule: "!has(self.value) || !has(self.operator) || self.operator != 'Exists'",
    message: 'value must be left out where operator is Exists',
    field: 'value',
    holds: ({ value, operator }: TolerationFields) => value === undefined || operator !== 'Exists',
  },
  {
    rule: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    message: 'tolerationSeconds needs effect NoExecute',
    field: 'tolerationSeconds',
    holds: ({ tolerationSeconds, effect }: TolerationFields) =>
      tolerationSeconds === undefined || effect === 'NoExecute',
  },
).describe('One taint that is tolerated.')

/**
 * On which nodes something may run, as Kubernetes has it. The fields are the same for a machine, for one of a workspace and for a container cluster.
 * @param who in prose
 */
export const placementFields = (who: string) => ({
  nodeSelector: cel(
    textMap(
      z.string().max(63).describe('Value of the label. Quote numbers, true and false.').meta({ example: 'a' }),
      { entries: SELECTORS_MAX, key: KEY_MAX },
      `Labels of the nodes that the ${who} may run on: a node must have all of them. A change takes effect at the next start. Default: any node.`,
    ).meta({ example: { 'topology.kubernetes.io/zone': 'a' } }),
    // On the map: of a rule on a value, the API server and zod would name the field differently.
    {
      rule: `self.all(key, ${celMatches('self[key]', MAYBE_LABEL_VALUE)})`,
      message: `every value ${VALUE_FORM}`,
      holds: (selector: Readonly<Record<string, string>>) => Object.values(selector).every(isLabelValue),
    },
  ).optional(),
  tolerations: z
    .array(toleration)
    .max(TOLERATIONS_MAX)
    .describe(
      `Taints of nodes that the ${who} tolerates, as Kubernetes has them. A change takes effect at the next start. Default: none.`,
    )
    .optional(),
})

export type MemberToleration = TolerationFields
