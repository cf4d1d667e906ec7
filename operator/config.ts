import { hostname } from 'node:os'
import { keysOfNoLabel, parseDuration } from '@open-terrain/constructs/operator'
import { z } from 'zod'

export type OperatorConfig = ReturnType<typeof readConfig>

/** `15s`, `500ms`, or a bare number of seconds. */
function duration(fallbackMs: number) {
  return z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined || text === '') return fallbackMs
      const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : parseDuration(text)
      if (ms !== undefined && ms > 0) return ms
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a duration: write for example 15s, 500ms or a number of seconds`,
      })
      return z.NEVER
    })
}

const blankIsAbsent = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text))

function positive(fallback: number) {
  const number = z.coerce.number<string>({ error: 'must be a number' }).positive('must be more than 0')
  return blankIsAbsent.pipe(number.default(fallback))
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const environment = z.object({
  /** Path of a kubeconfig. If undefined: the default locations, or the pod's ServiceAccount. */
  KUBECONFIG: blankIsAbsent,
  /** Namespace of the policy, the ledger and the Lease. */
  OPERATOR_NAMESPACE: blankIsAbsent.transform((text) => text ?? 'sync-operator'),
  /** Namespace of CDI: the Lease of its controller shows whether it works. */
  CDI_NAMESPACE: blankIsAbsent.transform((text) => text ?? 'cdi'),
  /** Namespace of KubeVirt: the Lease of virt-controller shows whether it works. */
  KUBEVIRT_NAMESPACE: blankIsAbsent.transform((text) => text ?? 'kubevirt'),
  /** Key of the label of Workspaces that names their class; undefined: metrics tell no classes apart. */
  LAB_CLASS_LABEL: blankIsAbsent.refine((key) => key === undefined || keysOfNoLabel({ [key]: '' }).length === 0, {
    error: 'must be the key of a label, such as course or example.com/course',
  }),
  POD_NAME: blankIsAbsent.transform((text) => text ?? hostname()),
  /** `host:port` or `:port`; undefined: no listener. */
  METRICS_ADDRESS: blankIsAbsent,
  HEALTH_ADDRESS: blankIsAbsent,
  /** Whether to serve `/caches` next to the metrics. For tests of the operator. */
  SERVE_CACHES: blankIsAbsent.pipe(z.enum(['true', 'false'], { error: 'must be true or false' }).default('false')),
  LEASE_DURATION: duration(15_000),
  LEASE_RENEW_DEADLINE: duration(10_000),
  LEASE_RETRY_PERIOD: duration(2_000),
  /** Requests per second, and burst size: a safeguard against bugs, far above normal use. */
  API_REQUESTS_PER_SECOND: positive(1_000),
  API_REQUEST_BURST: positive(2_000),
  LOG_LEVEL: blankIsAbsent.pipe(z.enum(LEVELS).default('info')),
})

/** Reads the environment. Throws an Error whose message names each variable that cannot be used, and why. */
export function readConfig(env: Readonly<Record<string, string | undefined>>) {
  const parsed = environment.safeParse(env)
  if (!parsed.success) {
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'))
  }
  const { data } = parsed
  const lease = {
    durationMs: data.LEASE_DURATION,
    renewDeadlineMs: data.LEASE_RENEW_DEADLINE,
    retryPeriodMs: data.LEASE_RETRY_PERIOD,
  }
  if (lease.renewDeadlineMs >= lease.durationMs || lease.retryPeriodMs >= lease.renewDeadlineMs) {
    throw new Error(
      'LEASE_RETRY_PERIOD must be shorter than LEASE_RENEW_DEADLINE, and that shorter than LEASE_DURATION',
    )
  }
  return {
    kubeconfig: data.KUBECONFIG,
    namespace: data.OPERATOR_NAMESPACE,
    labClassLabel: data.LAB_CLASS_LABEL,
    podName: data.POD_NAME,
    cdiNamespace: data.CDI_NAMESPACE,
    kubevirtNamespace: data.KUBEVIRT_NAMESPACE,
    metricsAddress: data.METRICS_ADDRESS,
    healthAddress: data.HEALTH_ADDRESS,
    servesCaches: data.SERVE_CACHES === 'true',
    lease,
    requestsPerSecond: data.API_REQUESTS_PER_SECOND,
    requestBurst: data.API_REQUEST_BURST,
    logLevel: data.LOG_LEVEL,
  }
}
