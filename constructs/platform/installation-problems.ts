import { parseDuration } from '../api/duration.ts'
import { LAB_ISOLATION } from '../api/labels.ts'
import { keysOfNoLabel } from '../api/machine-placement.ts'
import { OPERATOR_NAMESPACE, POLICY_DEFAULTS } from '../api/policy.ts'
import { parseMilliQuantity } from '../api/quantity.ts'
import type { NetworkPoliciesOptions } from './network-policies.ts'
import { type OperatorDeploymentProps, operatorResources } from './operator-deployment.ts'

/** What cannot work in the properties of an installation. */
export interface InstallationProblem {
  /** Names of the property and of those around it. */
  readonly path: readonly string[]
  /** Continues a sentence that begins with property and value: `must ...`. */
  readonly message: string
}

/** Least memory with which the operator runs: with nothing to do, it needs 85 MB. */
const LEAST_MEMORY = '96Mi'
/** Least CPU: with less, the operator starts so slowly that its liveness probe restarts it. */
const LEAST_CPU = '50m'

/** Returns why requests and limits cannot work. */
export function resourceProblems(given: NonNullable<OperatorDeploymentProps['resources']>): InstallationProblem[] {
  // As they are written, because a default may exceed what is given.
  const { requests, limits } = operatorResources(given)
  const found: InstallationProblem[] = []
  for (const [name, least] of [
    ['cpu', LEAST_CPU],
    ['memory', LEAST_MEMORY],
  ] as const) {
    const [request, limit] = [requests[name], limits[name]]
    if (limit === undefined) continue
    if (isMore(least, limit))
      found.push({ path: ['limits', name], message: `must be at least ${least}, or the operator cannot run` })
    if (!isMore(request, limit)) continue
    const hint = given.limits?.[name] === undefined ? `, the default: set limits.${name} too` : ''
    found.push({ path: ['requests', name], message: `must not be more than the limit, ${limit}${hint}` })
  }
  return found
}

function isMore(one: string, other: string): boolean {
  const [first, second] = [one, other].map(parseMilliQuantity)
  return first !== undefined && second !== undefined && first > second
}

const NOT_ALONE = 'must be a namespace that nothing else uses: take another name'

/** Names of the namespaces of an installation. */
export interface InstallationNamespaces {
  /** That of the operator. */
  readonly namespace?: string | undefined
  /** That of the images of workspaces. */
  readonly imageNamespace?: string | undefined
  /** That of CDI. */
  readonly cdiNamespace?: string | undefined
  /** That of KubeVirt. */
  readonly kubevirtNamespace?: string | undefined
}

const DEFAULT_NAMESPACES = {
  namespace: OPERATOR_NAMESPACE,
  imageNamespace: POLICY_DEFAULTS.imageNamespace,
  cdiNamespace: 'cdi',
  kubevirtNamespace: 'kubevirt',
}

/** Returns why namespaces cannot be what they are to be. Ours get a level of Pod Security, and labels and admission policies that keep them. */
export function namespaceProblems(given: InstallationNamespaces): InstallationProblem[] {
  const known = Object.entries(given).filter(([, name]) => name !== undefined)
  const names = { ...DEFAULT_NAMESPACES, ...Object.fromEntries(known) } as typeof DEFAULT_NAMESPACES
  const found = (['namespace', 'imageNamespace'] as const).flatMap((key) => problemsOfOurs(key, names))
  if (names.imageNamespace === names.namespace)
    found.push({
      path: ['imageNamespace'],
      message: 'must be another namespace than the operator has: images outlive it',
    })
  return found
}

function problemsOfOurs(key: 'namespace' | 'imageNamespace', names: typeof DEFAULT_NAMESPACES): InstallationProblem[] {
  const name = names[key]
  if (/^kube-/.test(name) || name === 'default' || name === LAB_ISOLATION.namespace)
    return [{ path: [key], message: NOT_ALONE }]
  return (['cdiNamespace', 'kubevirtNamespace'] as const)
    .filter((other) => names[other] === name)
    .map((other) => {
      // The one that was given, where the other one is the default.
      const isOther = name === DEFAULT_NAMESPACES[key] && name !== DEFAULT_NAMESPACES[other]
      if (!isOther) return { path: [key], message: NOT_ALONE }
      return { path: [other], message: `must be another namespace than ${key}, which nothing else may use` }
    })
}

/** Returns why options of the NetworkPolicies allow more than anybody means. */
export function networkPolicyProblems({ apiServerPorts, metricsFrom }: NetworkPoliciesOptions): InstallationProblem[] {
  const found: InstallationProblem[] = []
  if (apiServerPorts?.length === 0)
    found.push({
      path: ['apiServerPorts'],
      message: 'must have at least one port: a rule without ports allows all of them',
    })
  if (metricsFrom !== undefined && Object.keys(metricsFrom).length === 0)
    found.push({
      path: ['metricsFrom'],
      message: 'must have at least one label: without any, the pods of all namespaces may read the metrics',
    })
  return found
}

type Judge = (value: string) => boolean
/** What must be, and whether a value is so. */
type Rule = readonly [string, Judge]
const DURATION: Rule = ['must be a duration such as 15s, 500ms or a number of seconds', (value) => millis(value) > 0]
const POSITIVE: Rule = ['must be a number above 0', (value) => Number(value) > 0 && Number.isFinite(Number(value))]
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
/** Variables that the operator reads, and what it takes. An empty text is as if there were no such variable. */
const VARIABLES: Readonly<Record<string, Rule>> = {
  LOG_LEVEL: [`must be one of ${LEVELS.join(', ')}`, (value) => LEVELS.includes(value)],
  LEASE_DURATION: DURATION,
  LEASE_RENEW_DEADLINE: DURATION,
  LEASE_RETRY_PERIOD: DURATION,
  API_REQUESTS_PER_SECOND: POSITIVE,
  API_REQUEST_BURST: POSITIVE,
  LAB_CLASS_LABEL: [
    'must be the key of a label, such as course or example.com/course',
    (value) => keysOfNoLabel({ [value]: '' }).length === 0,
  ],
  SERVE_CACHES: ['must be true or false', (value) => ['true', 'false'].includes(value)],
  KUBECONFIG: ['must be left out: the pods have a ServiceAccount, and no file', () => false],
}

function millis(text: string): number {
  return (/^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : parseDuration(text)) ?? 0
}

/** Returns why the operator would not start with environment variables. */
export function variableProblems(env: Readonly<Record<string, string>>): InstallationProblem[] {
  const found = Object.entries(env).flatMap(([name, value]): InstallationProblem[] => {
    const [message, isFit] = VARIABLES[name] ?? []
    return message === undefined || value === '' || isFit?.(value) === true ? [] : [{ path: [name], message }]
  })
  if (found.length > 0) return found
  const lease = (name: string, fallback: string) => millis(env[name] || fallback)
  const [duration, deadline] = [lease('LEASE_DURATION', '15s'), lease('LEASE_RENEW_DEADLINE', '10s')]
  if (deadline >= duration)
    return [{ path: ['LEASE_RENEW_DEADLINE'], message: `must be shorter than LEASE_DURATION, ${duration / 1_000} s` }]
  if (lease('LEASE_RETRY_PERIOD', '2s') < deadline) return []
  return [{ path: ['LEASE_RETRY_PERIOD'], message: `must be shorter than LEASE_RENEW_DEADLINE, ${deadline / 1_000} s` }]
}

type Judged = InstallationNamespaces &
  Pick<OperatorDeploymentProps, 'resources' | 'pods'> & { readonly networkPolicies?: boolean | NetworkPoliciesOptions }

/** Throws an error that names each property that cannot work, with value and remedy. */
export function checkInstallation(props: Judged): void {
  const { resources = {}, pods: { env = {} } = {}, networkPolicies } = props
  const under = (path: readonly string[], problems: readonly InstallationProblem[]) =>
    problems.map((one) => ({ ...one, path: [...path, ...one.path] }))
  const problems = [
    ...namespaceProblems(props),
    ...under(['resources'], resourceProblems(resources)),
    ...under(['pods', 'env'], variableProblems(env)),
    ...under(['networkPolicies'], typeof networkPolicies === 'object' ? networkPolicyProblems(networkPolicies) : []),
  ]
  if (problems.length === 0) return
  const sentences = problems.map(({ path, message }) => {
    const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], props)
    return `${path.join('.')}${value === undefined ? '' : `: ${JSON.stringify(value)}`} ${message}`
  })
  throw new Error(sentences.join('; '))
}
