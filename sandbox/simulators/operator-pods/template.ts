import { createHash } from 'node:crypto'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'

/** Name label of the pods that {@link OperatorPods} runs as processes. No other simulator touches them. */
const OPERATOR_NAME = 'open-terrain-operator'

/** As much of a probe as the API server fills in by itself. */
export interface ProbeSpec {
  readonly httpGet: { readonly path: string; readonly port: number | string }
  readonly initialDelaySeconds?: number
  readonly timeoutSeconds?: number
  readonly periodSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
}

interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
}

export interface OperatorContainer {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly EnvVar[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly livenessProbe?: ProbeSpec
  readonly readinessProbe?: ProbeSpec
}

export interface OperatorPod extends KubeObject {
  readonly spec: {
    readonly serviceAccountName: string
    readonly nodeName?: string
    readonly terminationGracePeriodSeconds?: number
    readonly containers: readonly OperatorContainer[]
  }
  readonly status?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly Condition[] }
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime: string
}

/** What an image provides, as its Dockerfile says. */
export interface ContainerImage {
  readonly entrypoint: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export function isOperatorPod(pod: KubeObject | undefined): boolean {
  return pod?.metadata.labels?.['app.kubernetes.io/name'] === OPERATOR_NAME
}

/** Returns a loopback address that no other pod has, in place of a pod IP. */
export function addressOf(pod: KubeObject): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256')
    .update(pod.metadata.uid ?? '')
    .digest()
  // 127.0 is left for other uses.
  return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`
}

/** Returns the command and environment of a container. Throws an Error that names what this node cannot provide. */
export function commandOf(
  pod: OperatorPod,
  container: OperatorContainer,
  image: ContainerImage,
): { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const address = addressOf(pod)
  const { command = image.entrypoint, args = [] } = container
  const own = (container.env ?? []).map((one) => [one.name, onAddress(textOf(pod, one, address), address)])
  const env = { HOSTNAME: pod.metadata.name, ...image.env, ...Object.fromEntries(own) }
  return { argv: [...command, ...args.map((arg) => onAddress(arg, address))], env }
}

/** Returns the URL that a probe asks; undefined if it names a port that the container does not have. */
export function probeUrl(pod: OperatorPod, container: OperatorContainer, { httpGet }: ProbeSpec): string | undefined {
  const port =
    typeof httpGet.port === 'number'
      ? httpGet.port
      : container.ports?.find(({ name }) => name === httpGet.port)?.containerPort
  return port === undefined ? undefined : `http://${addressOf(pod)}:${port}${httpGet.path}`
}

/** `:8080` means all addresses, and a pod has only its own. */
function onAddress(text: string, address: string): string {
  return text.replace(/^(--?[\w-]+=)?:(?=\d+$)/, `$1${address}:`)
}

function textOf({ metadata, spec }: OperatorPod, { name, value = '', valueFrom }: EnvVar, address: string): string {
  if (valueFrom === undefined) return value
  const path = valueFrom.fieldRef?.fieldPath
  const known: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
    'status.podIP': address,
  }
  const found = path === undefined ? undefined : known[path]
  if (found === undefined) throw new Error(`env ${name} of pod ${metadata.name} has a source that is not simulated`)
  return found
}
