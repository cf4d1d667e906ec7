import {
  compareQuantities,
  OPERATOR_NAMESPACE,
  POLICY_DEFAULTS,
  POLICY_KEYS,
  parsePolicy,
  parseQuantity,
  parseVMDiskImageSpec,
  problemsText,
} from '@open-terrain/constructs'
import { type InstallationProps, type PolicyValues, policyData } from '@open-terrain/constructs/platform'
import { z } from 'zod'
import { imageProblem } from './image-reference.ts'
import about from './package.json' with { type: 'json' }

/** Prefix of the configuration keys of a stack: `open-terrain:<key>`. */
export const PROJECT = 'open-terrain'

const objectName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
  error: 'must be a name of lower-case letters, digits and dashes, of at most 63 characters',
})
/** Names of Secrets may contain dots, names of namespaces may not. */
const secretName = z
  .string({ error: 'must be a name in quotes' })
  .max(253, { error: 'must be at most 253 characters long' })
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, {
    error: 'must be the name of a Secret: lower-case letters, digits, dashes and dots',
  })
const flag = z.boolean({ error: 'must be true or false' })
const quantity = z
  .string({ error: 'must be a quantity in quotes, such as "500m" or "256Mi"' })
  .refine((text) => parseQuantity(text) !== undefined, { error: 'must be a quantity such as 500m or 256Mi' })
const amounts = z.strictObject({ cpu: quantity.optional(), memory: quantity.optional() })

const image = z
  .string({ error: 'must be a container image, such as registry.example/open-terrain/operator:1.4.0' })
  .superRefine((text, context) => {
    const message = imageProblem(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const resources = z
  .strictObject({ requests: amounts.optional(), limits: amounts.optional() })
  .superRefine((given, context) => {
    for (const name of ['cpu', 'memory'] as const) {
      const request = given.requests?.[name]
      const limit = given.limits?.[name]
      if (request === undefined || limit === undefined || (compareQuantities(request, limit) ?? 0) <= 0) continue
      const message = `must not be more than the limit, ${limit}`
      context.addIssue({ code: 'custom', path: ['requests', name], message })
    }
  })

const policyValue = z.union(
  [z.string(), z.number(), z.boolean(), z.array(z.string()), z.record(z.string(), z.union([z.string(), z.number()]))],
  { error: 'must be a text, a number, true or false, a list of texts, or texts by name' },
)

/** Applies the operator's own rules, so that no policy reaches a cluster that the operator would reject there. */
const policy = z.record(z.string(), policyValue).superRefine((values, context) => {
  for (const { key, message } of parsePolicy(policyData(values as PolicyValues), POLICY_DEFAULTS).problems) {
    const isKnown = (POLICY_KEYS as readonly string[]).includes(key)
    context.addIssue({
      code: 'custom',
      path: [key],
      message: isKnown ? message : `is not a key of the policy: take one of ${POLICY_KEYS.join(', ')}`,
    })
  }
})

const images = z.record(
  objectName,
  z.record(z.string(), z.unknown()).superRefine((spec, context) => {
    const parsed = parseVMDiskImageSpec(spec)
    if (!parsed.ok)
      context.addIssue({
        code: 'custom',
        message: `must be the spec of a VMDiskImage: ${problemsText(parsed.problems)}`,
      })
  }),
)

const SCHEMA = z
  .strictObject({
    image,
    imagePullSecrets: z
      .array(secretName, { error: 'must be a list of names of Secrets in the namespace of the operator' })
      .default([]),
    namespace: objectName.default(OPERATOR_NAMESPACE),
    imageNamespace: objectName.default(POLICY_DEFAULTS.imageNamespace),
    cdiNamespace: objectName.default('cdi'),
    replicas: z
      .number({ error: 'must be a whole number from 1 to 5' })
      .int({ error: 'must be a whole number from 1 to 5' })
      .min(1, { error: 'must be at least 1; set policy.concurrency to 0 to pause downloads' })
      .max(5, { error: 'must be at most 5: one leads, the others only wait for its Lease' })
      .default(2),
    resources: resources.default({}),
    policy: policy.default({}),
    monitoring: z
      .strictObject({
        enabled: flag.default(false),
        labels: z.record(z.string(), z.string({ error: 'must be a text' })).optional(),
        interval: z.string({ error: 'must be a duration such as 30s' }).optional(),
        runbookUrl: z.string({ error: 'must be a URL' }).optional(),
        alerts: z.record(z.string(), z.unknown()).optional(),
      })
      .default({ enabled: false }),
    networkPolicies: z
      .strictObject({
        enabled: flag.default(true),
        metricsFrom: z.record(z.string(), z.string({ error: 'must be a text' })).optional(),
        apiServerPorts: z.array(z.int().min(1).max(65_535), { error: 'must be a list of ports' }).optional(),
        importers: z
          .union([z.literal(false), z.strictObject({ deniedRanges: z.array(z.string()).optional() })], {
            error: 'must be false, or have deniedRanges, a list of ranges such as 10.0.0.0/8',
          })
          .optional(),
      })
      .default({ enabled: true }),
    protect: flag.default(true),
    images: images.default({}),
  })
  .superRefine(({ imageNamespace, namespace, policy: values }, context) => {
    if (imageNamespace === namespace)
      context.addIssue({
        code: 'custom',
        path: ['imageNamespace'],
        message: 'must be another namespace than the operator has: images outlive it',
      })
    const other = values['imageNamespace']
    if (other !== undefined && other !== imageNamespace)
      context.addIssue({
        code: 'custom',
        path: ['policy', 'imageNamespace'],
        message: `must be left out: the key imageNamespace says it, ${imageNamespace}`,
      })
  })

/** The configuration of one environment, with all defaults. Pulumi.yaml describes the keys. */
export type EnvironmentConfig = z.output<typeof SCHEMA>

/** All keys except `secrets`, which no file contains in clear text. */
export const CONFIG_KEYS = Object.keys(SCHEMA.shape) as readonly (keyof EnvironmentConfig)[]

/** Keys whose value is always text, even if it looks like a number. */
const TEXTS: readonly string[] = ['image', 'namespace', 'imageNamespace', 'cdiNamespace']

/** Reports what is wrong with a stack's configuration: one line per key, with its value and the remedy. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`the configuration of the stack is not valid\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * Validates the values of a stack by key, without the prefix `open-terrain:`. Numbers, flags and objects may be JSON text, as Pulumi passes them.
 * Throws a ConfigError that names every invalid key.
 */
export function parseConfig(given: Readonly<Record<string, unknown>>): EnvironmentConfig {
  const { secrets: _secrets, ...values } = given
  const plain = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, plainValue(key, value)]))
  const result = SCHEMA.safeParse(plain)
  if (result.success) return result.data
  throw new ConfigError(result.error.issues.flatMap((issue) => problemLines(issue, plain)))
}

function plainValue(key: string, value: unknown): unknown {
  if (TEXTS.includes(key) || typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function problemLines(issue: z.core.$ZodIssue, values: unknown): string[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const known = path.length === 0 ? `: the keys are ${CONFIG_KEYS.join(', ')} and secrets` : ': remove it'
    return issue.keys.map((key) => `${PROJECT}:${[...path, key].join('.')} is not a key${known}`)
  }
  const key = `${PROJECT}:${path.join('.')}`
  const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], values)
  if (value === undefined && path.length === 1)
    return [`${key} is not set: run pulumi config set ${path[0]} <value>; it ${issue.message}`]
  return [`${key}: ${JSON.stringify(value)} ${issue.message}`]
}

/** Converts the configuration to the props of the platform constructs. */
export function installationProps(config: EnvironmentConfig): InstallationProps {
  const { images: _images, protect: _protect, resources: given, monitoring, networkPolicies, ...shared } = config
  const [scraped, limited] = [withoutEnabled(monitoring), withoutEnabled(networkPolicies)]
  const props = {
    ...shared,
    ...(scraped === false ? {} : { monitoring: scraped }),
    ...(Object.keys(given).length === 0 ? {} : { resources: given }),
    networkPolicies: limited,
    version: about.version,
  }
  // zod types these values as string maps, the constructs type each key.
  return props as InstallationProps
}

function withoutEnabled<Options extends object>({ enabled, ...options }: Options & { readonly enabled: boolean }) {
  return enabled && options
}
