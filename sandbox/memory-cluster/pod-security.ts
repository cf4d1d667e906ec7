import type { KubeObject } from '../../operator/kube/kube-object.ts'

/** The fields that the Pod Security checks read. */
export interface SecuredPodSpec {
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
  readonly securityContext?: SecurityContext
  readonly initContainers?: readonly SecuredContainer[]
  readonly containers?: readonly SecuredContainer[]
  readonly volumes?: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[]
}

interface SecurityContext {
  readonly privileged?: boolean
  readonly allowPrivilegeEscalation?: boolean
  readonly runAsNonRoot?: boolean
  readonly seccompProfile?: { readonly type?: string }
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] }
}

interface SecuredContainer {
  readonly name: string
  readonly ports?: readonly { readonly hostPort?: number }[]
  readonly securityContext?: SecurityContext
}

const ENFORCE = 'pod-security.kubernetes.io/enforce'

const DEFAULT_CAPABILITIES: readonly string[] = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]
const RESTRICTED_VOLUMES: readonly string[] = [
  'configMap',
  'downwardAPI',
  'emptyDir',
  'projected',
  'secret',
  'csi',
  'persistentVolumeClaim',
  'ephemeral',
  'image',
]
const SECCOMP_TYPES: readonly (string | undefined)[] = ['RuntimeDefault', 'Localhost']

type Check = (spec: SecuredPodSpec) => string | undefined

/**
 * Returns why the Pod Security level of a namespace rejects a pod, with the message of the API server, or undefined if it does
 * not. Has only the checks that our workloads can run into, not those for Windows, SELinux, AppArmor, sysctls and probes.
 */
export function podSecurityRefusal(namespace: KubeObject | undefined, spec: SecuredPodSpec): string | undefined {
  const level = namespace?.metadata.labels?.[ENFORCE]
  const found = (CHECKS[level ?? ''] ?? []).flatMap((check) => check(spec) ?? [])
  return found.length === 0 ? undefined : `violates PodSecurity "${level}:latest": ${found.join(', ')}`
}

const nonDefaultCapabilities: Check = (spec) => {
  const bad = containersOf(spec).filter((one) => forbiddenAdds(one, DEFAULT_CAPABILITIES).length > 0)
  if (bad.length === 0) return undefined
  const added = sorted(bad.flatMap((one) => forbiddenAdds(one, DEFAULT_CAPABILITIES)))
  return `non-default capabilities (${containers(bad)} must not include ${quoted(added)} in securityContext.capabilities.add)`
}

const hostNamespaces: Check = (spec) => {
  const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true)
  return used.length === 0 ? undefined : `host namespaces (${used.map((field) => `${field}=true`).join(', ')})`
}

const hostPathVolumes: Check = ({ volumes = [] }) => {
  const bad = volumes.filter((volume) => volume['hostPath'] !== undefined).map(({ name }) => name)
  return bad.length === 0 ? undefined : `hostPath volumes (${plural('volume', bad.length)} ${quoted(bad)})`
}

const hostPorts: Check = (spec) => {
  const portsOf = ({ ports = [] }: SecuredContainer) =>
    ports.flatMap(({ hostPort = 0 }) => (hostPort > 0 ? hostPort : []))
  const bad = containersOf(spec).filter((one) => portsOf(one).length > 0)
  if (bad.length === 0) return undefined
  const ports = sorted(bad.flatMap(portsOf).map(String))
  const verb = bad.length === 1 ? 'uses' : 'use'
  return `hostPort (${containers(bad)} ${verb} ${plural('hostPort', ports.length)} ${ports.join(', ')})`
}

const privileged: Check = (spec) => {
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.privileged === true)
  return bad.length === 0 ? undefined : `privileged (${containers(bad)} must not set securityContext.privileged=true)`
}

const escalation: Check = (spec) => {
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false)
  if (bad.length === 0) return undefined
  return `allowPrivilegeEscalation != false (${containers(bad)} must set securityContext.allowPrivilegeEscalation=false)`
}

const restrictedCapabilities: Check = (spec) => {
  const isDropped = ({ securityContext }: SecuredContainer) => securityContext?.capabilities?.drop?.includes('ALL')
  const undropped = containersOf(spec).filter((one) => !isDropped(one))
  const adding = containersOf(spec).filter((one) => forbiddenAdds(one, ['NET_BIND_SERVICE']).length > 0)
  const added = sorted(adding.flatMap((one) => forbiddenAdds(one, ['NET_BIND_SERVICE'])))
  const details = [
    ...(undropped.length > 0 ? [`${containers(undropped)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [`${containers(adding)} must not include ${quoted(added)} in securityContext.capabilities.add`]
      : []),
  ]
  return details.length === 0 ? undefined : `unrestricted capabilities (${details.join('; ')})`
}

const restrictedVolumes: Check = ({ volumes = [] }) => {
  const typeOf = (volume: object) => Object.keys(volume).find((field) => field !== 'name') ?? 'emptyDir'
  const bad = volumes.filter((volume) => !RESTRICTED_VOLUMES.includes(typeOf(volume)))
  if (bad.length === 0) return undefined
  const types = sorted(bad.map(typeOf))
  const names = `${plural('volume', bad.length)} ${quoted(bad.map(({ name }) => name))}`
  const verb = bad.length === 1 ? 'uses' : 'use'
  return `restricted volume types (${names} ${verb} ${plural('restricted volume type', bad.length)} ${quoted(types)})`
}

const nonRoot: Check = (spec) => {
  const bad = unset(spec, ({ runAsNonRoot }) => runAsNonRoot)
  if (bad.length === 0) return undefined
  return `runAsNonRoot != true (pod or ${containers(bad)} must set securityContext.runAsNonRoot=true)`
}

const seccomp: Check = (spec) => {
  const bad = unset(spec, ({ seccompProfile }) => SECCOMP_TYPES.includes(seccompProfile?.type) || undefined)
  if (bad.length === 0) return undefined
  const must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
  return `seccompProfile (pod or ${containers(bad)} ${must})`
}

const BASELINE: readonly Check[] = [nonDefaultCapabilities, hostNamespaces, hostPathVolumes, hostPorts, privileged]
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  baseline: BASELINE,
  restricted: [
    hostNamespaces,
    hostPorts,
    privileged,
    escalation,
    restrictedCapabilities,
    restrictedVolumes,
    nonRoot,
    seccomp,
  ],
}

function containersOf({ initContainers = [], containers: others = [] }: SecuredPodSpec): readonly SecuredContainer[] {
  return [...initContainers, ...others]
}

/** Returns the containers for which neither the container nor its pod sets the required value. */
function unset(
  spec: SecuredPodSpec,
  ask: (context: SecurityContext) => boolean | undefined,
): readonly SecuredContainer[] {
  const ofPod = ask(spec.securityContext ?? {})
  return containersOf(spec).filter(({ securityContext }) => (ask(securityContext ?? {}) ?? ofPod) !== true)
}

function forbiddenAdds({ securityContext }: SecuredContainer, allowed: readonly string[]): readonly string[] {
  return (securityContext?.capabilities?.add ?? []).filter((capability) => !allowed.includes(capability))
}

function containers(bad: readonly SecuredContainer[]): string {
  return `${plural('container', bad.length)} ${quoted(bad.map(({ name }) => name))}`
}

function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort()
}
