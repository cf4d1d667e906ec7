import { render, VMDiskImage, type VMDiskImageProps } from '@open-terrain/constructs'
import {
  type InstallationProblem,
  isPrometheusDuration,
  isUrlAllowed,
  namespaceProblems,
  networkPolicyProblems,
  parseCidr,
  parseQuantity,
  policyData,
  resourceProblems,
  variableProblems,
} from '@open-terrain/constructs/infra'
import {
  ADMISSION_ACTIONS,
  ALERTS,
  OPERATOR_NAMESPACE,
  POLICY_DEFAULTS,
  POLICY_KEYS,
  type PolicyValues,
  parsePolicy,
} from '@open-terrain/constructs/platform'
import { z } from 'zod'
import { imageProblem } from './image-reference.ts'

/** Continues the sentence that begins with key and value. `isWhole`: it is a sentence about the key by itself. */
interface Told {
  readonly path?: (string | number)[]
  readonly message: string
  readonly isWhole?: boolean
}

function tell(context: z.core.$RefinementCtx, { path = [], message, isWhole = false }: Told): void {
  context.addIssue({ code: 'custom', path, message, params: { isWhole } })
}

const objectName = text('must be a name in quotes, of lower-case letters, digits and dashes').regex(
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  { error: 'must be a name of lower-case letters, digits and dashes, of at most 63 characters' },
)
/** Names of Secrets may contain dots, names of namespaces may not. */
export const secretName = text('must be a name in quotes')
  .max(253, { error: 'must be at most 253 characters long' })
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, {
    error: 'must be the name of a Secret: lower-case letters, digits, dashes and dots',
  })
const flag = z.boolean({ error: 'must be true or false' })

function text(error: string): z.ZodString {
  return z.string({ error })
}

/** An object with these fields. Others are named as unknown keys. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape)
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'invalid_type' ? `must be an object of ${names.join(', ')}` : undefined),
  })
}

const QUANTITY = 'must be a quantity in quotes, such as "500m" or "256Mi"'
const quantity = text(QUANTITY).refine((amount) => (parseQuantity(amount) ?? -1n) >= 0n, {
  error: 'must be a quantity such as 500m or 256Mi',
})
const amounts = fields({ cpu: quantity.optional(), memory: quantity.optional() })

const LABEL_KEY =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const labels = z.record(
  z.string().regex(LABEL_KEY, { error: 'must be the key of a label, such as team or example.com/team' }),
  text('must be a text').regex(LABEL_VALUE, {
    error: 'must be the value of a label: at most 63 letters, digits, dashes, dots and underscores',
  }),
  { error: withInvalidKeys('must be labels: a text by key, such as {team: platform}') },
)

/** The message of a record that is none. An invalid key has the message of the schema of keys. */
function withInvalidKeys(error: string) {
  return ({ code }: { code: string }) => (code === 'invalid_key' ? undefined : error)
}

const image = text('must be a container image, such as registry.example/open-terrain/operator:1.4.0').superRefine(
  (reference, context) => {
    const message = imageProblem(reference)
    if (message !== undefined) tell(context, { message })
  },
)

const resources = fields({ requests: amounts.optional(), limits: amounts.optional() }).superRefine(
  telling(resourceProblems),
)

/** Tells what the constructs would refuse. */
function telling<Value>(judge: (value: Value) => readonly InstallationProblem[]) {
  return (value: unknown, context: z.core.$RefinementCtx) => {
    for (const { path, message } of judge(value as Value)) tell(context, { path: [...path], message })
  }
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const
const SECONDS = 'must be a number of seconds, and only with the effect NoExecute'
/** The API server's own rules, which it would only tell when the Deployment is written. */
const toleration = fields({
  key: text('must be the key of a taint').regex(LABEL_KEY, { error: 'must be the key of a taint' }).optional(),
  operator: z.enum(['Exists', 'Equal'], { error: 'must be Exists or Equal' }).optional(),
  value: text('must be a text in quotes').optional(),
  effect: z.enum(EFFECTS, { error: `must be one of ${EFFECTS.join(', ')}` }).optional(),
  tolerationSeconds: z.int({ error: SECONDS }).optional(),
})
  .refine(({ key, operator }) => key !== undefined || operator === 'Exists', {
    path: ['operator'],
    error: 'must be Exists where there is no key: such a toleration tolerates every taint',
  })
  .refine(({ operator, value }) => operator !== 'Exists' || value === undefined, {
    path: ['value'],
    error: 'must be left out with the operator Exists',
  })
  .refine(({ effect, tolerationSeconds }) => tolerationSeconds === undefined || effect === 'NoExecute', {
    path: ['tolerationSeconds'],
    error: SECONDS,
  })
const VARIABLES = 'must be environment variables: a text by name, such as {LOG_LEVEL: debug}'
const variables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'must be letters, digits and underscores' }),
    text('must be a text in quotes'),
    { error: withInvalidKeys(VARIABLES) },
  )
  .superRefine(telling(variableProblems))
const ANNOTATIONS = 'must be annotations: a text by key, such as {example.com/owner: platform}'
const annotations = z.record(
  z.string().regex(LABEL_KEY, { error: 'must be the key of an annotation, such as example.com/owner' }),
  text('must be a text in quotes'),
  { error: withInvalidKeys(ANNOTATIONS) },
)
const pods = fields({
  nodeSelector: labels.optional(),
  tolerations: z
    .array(toleration, { error: 'must be a list of tolerations, such as [{key: infra, operator: Exists}]' })
    .optional(),
  priorityClassName: objectName.optional(),
  labels: labels.optional(),
  annotations: annotations.optional(),
  env: variables.optional(),
})

const POLICY_VALUE = 'must be a text, a number, true or false, a list of texts, or texts by name'
const policyValue = z.union(
  [
    z.string(),
    z.number(),
    z.boolean(),
    z.array(text('must be a text')),
    z.record(z.string(), z.union([z.string(), z.number()], { error: 'must be a text or a number' })),
  ],
  { error: POLICY_VALUE },
)

/** Applies the operator's own rules, so that no policy reaches a cluster that the operator would reject there. */
const policy = z
  .record(z.string(), policyValue, { error: withInvalidKeys('must be keys of the policy with their values') })
  .superRefine((values, context) => {
    for (const { key, message } of parsePolicy(policyData(values as PolicyValues), POLICY_DEFAULTS).problems) {
      const isKnown = (POLICY_KEYS as readonly string[]).includes(key)
      tell(context, {
        path: [key],
        message: isKnown ? message : `is not a key of the policy: take one of ${POLICY_KEYS.join(', ')}`,
      })
    }
  })

const images = z
  .record(
    objectName,
    z
      .record(z.string(), z.unknown(), {
        error: withInvalidKeys('must be the spec of a VMDiskImage, such as {url: ...}'),
      })
      .superRefine((spec, context) => {
        for (const message of imageProblems(spec)) tell(context, { message, isWhole: true })
      }),
    { error: withInvalidKeys('must be specs of VMDiskImages by name, such as {ubuntu: {url: ...}}') },
  )
  .default({})

/** Judges by making the object, so that the rules are those of the construct, which also knows fields that do not exist. */
function imageProblems({ metadata, ...spec }: Readonly<Record<string, unknown>>): string[] {
  const own =
    metadata === undefined ? [] : ['metadata: must be left out: the key is the name, and imageNamespace says the rest']
  try {
    render((chart) => {
      new VMDiskImage(chart, 'image', { ...spec, metadata: { name: 'image' } } as VMDiskImageProps)
    })
    return own
  } catch (error) {
    const [, ...lines] = (error as Error).message.split('\n').map((line) => line.trim())
    return [...own, ...lines]
  }
}

const DURATION = 'must be a duration of Prometheus, such as 30s or 1h30m'
const duration = text(DURATION).refine(isPrometheusDuration, { error: DURATION })
const ALERT = 'must be false, which leaves the alert out, or have severity, above or for'
const override = z.union(
  [
    z.literal(false),
    z.strictObject({
      severity: z.enum(['critical', 'warning', 'info'], { error: 'must be critical, warning or info' }).optional(),
      above: z.number({ error: 'must be a number' }).optional(),
      for: duration.optional(),
    }),
  ],
  { error: ALERT },
)
const alerts = z
  .record(z.string(), override, {
    error: withInvalidKeys('must be changes by name of an alert, such as {NoLeader: false}'),
  })
  .superRefine((changes, context) => {
    for (const [name, change] of Object.entries(changes)) {
      const alert = Object.entries(ALERTS).find(([known]) => known === name)?.[1]
      if (alert === undefined)
        tell(context, { path: [name], message: `is of no alert: take one of ${Object.keys(ALERTS).join(', ')}` })
      else if (change !== false && change.above !== undefined && !('above' in alert))
        tell(context, { path: [name, 'above'], message: 'must be left out: this alert has no threshold' })
    }
  })

const action = z.enum(ADMISSION_ACTIONS, {
  error: 'must be Warn, which takes such objects with a warning, or Deny, which refuses new ones',
})

const RUNBOOK = 'must be the URL of a page, such as https://docs.example/operations'
const PORTS = 'must be a list of ports, numbers from 1 to 65535'
const PORT = 'must be a port, a number from 1 to 65535'
const port = z.int({ error: PORT }).min(1, { error: PORT }).max(65_535, { error: PORT })
const RANGES = 'must be a list of ranges such as 10.0.0.0/8'
const range = text('must be a range such as 10.0.0.0/8').refine((cidr) => (parseCidr(cidr)?.length ?? 0) > 0, {
  error: 'must be a range such as 10.0.0.0/8, and not everything',
})

function unique(list: readonly unknown[], context: z.core.$RefinementCtx): void {
  for (const [at, one] of list.entries())
    if (list.indexOf(one) < at) tell(context, { path: [at], message: 'must be left out: it is in the list already' })
}

/** Returns why the operator, with the policy of the same stack, would not download an image: the update would wait for it until its time is over. */
function refusals(
  { sourceType, diskSize, url, checksum }: Readonly<Record<string, unknown>>,
  values: object,
): string[] {
  const { policy } = parsePolicy(policyData(values as PolicyValues), POLICY_DEFAULTS)
  const type = sourceType ?? policy.defaultSourceType
  const found: string[] = []
  if (type === undefined)
    found.push('spec.sourceType is missing: set it, such as http, or set policy.defaultSourceType')
  if (diskSize === undefined && policy.defaultDiskSize === undefined)
    found.push('spec.diskSize is missing: set it, such as 24Gi, or set policy.defaultDiskSize')
  if (typeof url === 'string' && !isUrlAllowed(url, policy))
    found.push('spec.url is not allowed: correct it, or allow the place in policy.allowedSourceUrls')
  if (policy.requireChecksum && type === 'http' && checksum === undefined)
    found.push(
      'spec.checksum is missing, and policy.requireChecksum asks for it: set it, such as sha256:<64 hexadecimal digits>',
    )
  return found
}

export const SCHEMA = z
  .strictObject({
    image,
    imagePullSecrets: z
      .array(secretName, { error: 'must be a list of names of Secrets in the namespace of the operator' })
      .superRefine(unique)
      .default([]),
    namespace: objectName.default(OPERATOR_NAMESPACE),
    imageNamespace: objectName.default(POLICY_DEFAULTS.imageNamespace),
    cdiNamespace: objectName.default('cdi'),
    kubevirtNamespace: objectName.default('kubevirt'),
    replicas: z
      .number({ error: 'must be a whole number from 1 to 5' })
      .int({ error: 'must be a whole number from 1 to 5' })
      .min(1, { error: 'must be at least 1; set policy.concurrency to 0 to pause downloads' })
      .max(5, { error: 'must be at most 5: one leads, the others only wait for its Lease' })
      .default(2),
    resources: resources.default({}),
    pods: pods.default({}),
    policy: policy.default({}),
    monitoring: fields({
      enabled: flag.default(false),
      labels: labels.optional(),
      interval: duration.optional(),
      runbookUrl: text(RUNBOOK)
        .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), { error: RUNBOOK })
        .optional(),
      alerts: alerts.optional(),
      dashboard: z
        .union(
          [
            z.literal(false),
            z.strictObject({
              namespace: objectName.optional(),
              labels: labels.optional(),
              annotations: annotations.optional(),
            }),
          ],
          {
            error: 'must be false, which leaves the dashboard out, or have namespace, labels or annotations',
          },
        )
        .optional(),
    }).default({ enabled: false }),
    networkPolicies: fields({
      enabled: flag.default(true),
      metricsFrom: labels.optional(),
      apiServerPorts: z.array(port, { error: PORTS }).superRefine(unique).optional(),
      importers: z
        .union([z.literal(false), z.strictObject({ deniedRanges: z.array(range, { error: RANGES }).optional() })], {
          error: `must be false, or have deniedRanges, which ${RANGES}`,
        })
        .optional(),
    })
      .superRefine(telling(networkPolicyProblems))
      .default({ enabled: true }),
    labIsolation: fields({
      enabled: flag.default(false),
      image: text('must name a container image with sh and nft')
        .regex(/^[^\s]+$/, { error: 'must name a container image with sh and nft' })
        .optional(),
      nodeSelector: labels.optional(),
    })
      .refine(({ enabled, image: rules }) => !enabled || rules !== undefined, {
        path: ['image'],
        error: 'must name a container image with sh and nft',
      })
      .default({ enabled: false }),
    admission: fields({ plainTextPasswords: action.optional(), workspacesWithoutOwners: action.optional() }).default(
      {},
    ),
    protect: flag.default(true),
    adopt: flag.default(false),
    images,
  })
  .superRefine((values, context) => {
    telling(namespaceProblems)(values, context)
    // What has problems of its own has told them.
    for (const [name, spec] of Object.entries(values.images))
      if (imageProblems(spec).length === 0)
        for (const message of refusals(spec, values.policy))
          tell(context, { path: ['images', name], message, isWhole: true })
    const { imageNamespace } = values
    const other = values.policy['imageNamespace']
    if (other !== undefined && other !== imageNamespace)
      tell(context, {
        path: ['policy', 'imageNamespace'],
        message: `must be left out: the key imageNamespace says it, ${imageNamespace}`,
      })
  })
