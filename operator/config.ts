import { hostname } from 'node:os'
import { parseDuration } from '@open-terrain/constructs'
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

function positive(fallback: number) {
  return z.coerce.number({ error: 'must be a number' }).positive('must be more than 0').default(fallback)
}

const blankIsAbsent = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text))

const environment = z.object({
  /** Path of a kubeconfig; undefined: the usual places, or the pod's ServiceAccount. */
  KUBECONFIG: blankIsAbsent,
  /** Where the policy, the ledger and the Lease are. */
  OPERATOR_NAMESPACE: blankIsAbsent.transform((text) => text ?? 'sync-operator'),
  /** Where CDI is installed: the Lease of its controller tells whether it works. */
  CDI_NAMESPACE: blankIsAbsent.transform((text) => text ?? 'cdi'),
  POD_NAME: blankIsAbsent.transform((text) => text ?? hostname()),
  /** `host:port` or `:port`; undefined: no listener. */
  METRICS_ADDRESS: blankIsAbsent,
  HEALTH_ADDRESS: blankIsAbsent,
  /** Whether `/caches` is served beside the metrics: for tests of the operator. */
  SERVE_CACHES: blankIsAbsent.pipe(z.enum(['true', 'false'], { error: 'must be true or false' }).default('false')),
  LEASE_DURATION: duration(15_000),
  LEASE_RENEW_DEADLINE: duration(10_000),
  LEASE_RETRY_PERIOD: duration(2_000),
  /** Requests a second, and at once: a brake for bugs, far above what is needed. */
  API_REQUESTS_PER_SECOND: positive(1_000),
  API_REQUEST_BURST: positive(2_000),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
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
    podName: data.POD_NAME,
    cdiNamespace: data.CDI_NAMESPACE,
    metricsAddress: data.METRICS_ADDRESS,
    healthAddress: data.HEALTH_ADDRESS,
    servesCaches: data.SERVE_CACHES === 'true',
    lease,
    requestsPerSecond: data.API_REQUESTS_PER_SECOND,
    requestBurst: data.API_REQUEST_BURST,
    logLevel: data.LOG_LEVEL,
  }
}
