import { POLICY_DEFAULTS, POLICY_NAME, parsePolicy } from '@open-terrain/constructs/platform'
import { imageProblem } from '../image-reference.ts'

/** Rules are functions of what a stack registers. Each returns one sentence per problem, and none if there is no problem. */

/** Fields that rules read from Kubernetes objects of any kind. */
export interface ObjectProps {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: { readonly name?: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: unknown
}

interface Container {
  readonly name?: string
  readonly image?: string
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>
    readonly limits?: Readonly<Record<string, string>>
  }
  readonly securityContext?: {
    readonly privileged?: boolean
    readonly allowPrivilegeEscalation?: boolean
  }
}

interface PodSpec {
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly { readonly name?: string; readonly hostPath?: unknown }[]
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
}

interface Templated {
  readonly template?: { readonly spec?: PodSpec }
  readonly jobTemplate?: { readonly spec?: { readonly template?: { readonly spec?: PodSpec } } }
  /** Set on a Workspace. */
  readonly containerClusters?: readonly { readonly containers?: readonly Container[] }[]
}

const TEMPLATED: readonly string[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job']

function podSpecOf({ kind = '', spec }: ObjectProps): PodSpec | undefined {
  if (kind === 'Pod') return spec as PodSpec | undefined
  if (kind === 'CronJob') return (spec as Templated | undefined)?.jobTemplate?.spec?.template?.spec
  return TEMPLATED.includes(kind) ? (spec as Templated | undefined)?.template?.spec : undefined
}

function containersOf(props: ObjectProps): readonly Container[] {
  const pod = podSpecOf(props)
  return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]
}

/** Checks pods, and the containers of Workspaces. */
export function unpinnedImages(props: ObjectProps): string[] {
  const clusters = props.kind === 'Workspace' ? (props.spec as Templated | undefined)?.containerClusters : undefined
  const containers = [...containersOf(props), ...(clusters ?? []).flatMap((cluster) => cluster.containers ?? [])]
  return containers.flatMap(({ name, image = '' }) => {
    const problem = imageProblem(image)
    return problem === undefined ? [] : [`container ${name}: image ${JSON.stringify(image)} ${problem}`]
  })
}

export function missingLimits(props: ObjectProps): string[] {
  return containersOf(props).flatMap(({ name, resources }) => {
    const missing = [
      ...['cpu', 'memory'].filter((one) => resources?.requests?.[one] === undefined).map((one) => `requests.${one}`),
      // A CPU limit only slows down what could run. Memory without a limit takes memory from others on the node.
      ...(resources?.limits?.['memory'] === undefined ? ['limits.memory'] : []),
    ]
    return missing.map((field) => `container ${name}: resources.${field} is not set: give it a quantity`)
  })
}

export function privileges(props: ObjectProps): string[] {
  const pod = podSpecOf(props) ?? {}
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => pod[field] === true)
  const mounts = (pod.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined)
  const containers = containersOf(props).flatMap(({ name, securityContext }) => {
    const { privileged, allowPrivilegeEscalation } = securityContext ?? {}
    if (privileged === true) return [`container ${name} is privileged: remove securityContext.privileged`]
    if (allowPrivilegeEscalation === false) return []
    return [`container ${name}: set securityContext.allowPrivilegeEscalation to false`]
  })
  return [
    ...shared.map((field) => `${field} is true: pods must not share namespaces of their node, remove it`),
    ...mounts.map(({ name }) => `volume ${name} is a hostPath: take a volume that is not the disk of the node`),
    ...containers,
  ]
}

export interface ConcurrencyRule {
  /** Maximum number of images that may download at once. */
  readonly maximum: number
  /** Whether 0, which starts no more downloads, is intended. */
  readonly mayPause: boolean
}

export function oddConcurrency(
  { kind, metadata, data }: ObjectProps,
  { maximum, mayPause }: ConcurrencyRule,
): string[] {
  if (kind !== 'ConfigMap' || metadata?.name !== POLICY_NAME) return []
  const { policy, problems } = parsePolicy(data, POLICY_DEFAULTS)
  if (problems.length > 0)
    return problems.map(({ key, value, message }) => `${key}: ${JSON.stringify(value)} ${message}`)
  const { concurrency } = policy
  if (concurrency === 0 && !mayPause)
    return ['concurrency: 0 starts no download any more: set a number from 1 on, or mayPause of this policy']
  if (concurrency <= maximum) return []
  return [`concurrency: ${concurrency} is more than ${maximum}: lower it, or raise maximum of this policy`]
}

export function unprotectedCrd({ kind, metadata }: ObjectProps, isProtected: boolean): string[] {
  if (kind !== 'CustomResourceDefinition' || isProtected) return []
  return [`CustomResourceDefinition ${metadata?.name} is not protected: set open-terrain:protect to true`]
}
