import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { ansibleName } from '@open-terrain/constructs/operator'
import { parse } from 'yaml'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Workspace } from '../../harness/kinds.ts'
import { isForPodsOf } from './lab-parts.ts'
import { hasHostPort, type Permits } from './lab-permits.ts'
import { FARM } from './labs.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds, looked at field by field
type Raw = any

type Vm = NonNullable<Workspace['spec']['vms']>[number]
type Cluster = NonNullable<Workspace['spec']['containerClusters']>[number]

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
const ENFORCE = 'pod-security.kubernetes.io/enforce'

/**
 * Returns what is not as the spec of a workspace wants it. Derived from the design, not from the code that renders the objects.
 * @param held objects that stay as they are, as `Kind name`
 */
export function wrongIn(
  workspace: Workspace,
  parts: readonly KubeObject[],
  held: ReadonlySet<string>,
  permits: Permits,
): string[] {
  const of = (kind: string) => parts.filter((one) => one.kind === kind) as Raw[]
  const wrong = [
    ...isolationIn(of('NetworkPolicy')),
    ...internetIn(workspace, permits, of('NetworkPolicy')),
    ...namespaceIn(workspace, { held, permits }, of('Namespace')),
    ...playsIn(
      workspace,
      of('ConfigMap').filter(({ metadata }) => metadata.name === ansibleName(workspace.metadata.name)),
    ),
    ...valuesIn(workspace, of('Secret')),
    ...of('ConfigMap')
      .filter(({ data }) => data?.hosts !== undefined)
      .flatMap((one) => hostsIn(workspace, held, one)),
    ...of('Deployment').flatMap((one) =>
      held.has(`Deployment ${one.metadata.name}`)
        ? []
        : [...clusterIn(workspace, one), ...routesIn(workspace, one, of('NetworkAttachmentDefinition'))],
    ),
    ...of('VirtualMachine').flatMap((one) =>
      held.has(`VirtualMachine ${one.metadata.name}`) ? [] : machineIn(workspace, one),
    ),
    ...of('Service').flatMap((one) =>
      held.has(`Service ${one.metadata.name}`) ? [] : serviceIn(workspace, one, of('Deployment'), of('NetworkPolicy')),
    ),
    ...of('NetworkAttachmentDefinition').flatMap((one) =>
      parsed(one) === undefined ? [`${one.metadata.name} is no configuration`] : [],
    ),
  ]
  return wrong
}

function isolationIn(policies: readonly Raw[]): string[] {
  const denies = policies.some(({ spec }) => {
    const isForAll = Object.keys(spec.podSelector ?? { none: true }).length === 0
    const types = [...(spec.policyTypes ?? [])].toSorted().join()
    return isForAll && types === 'Egress,Ingress' && spec.ingress === undefined && spec.egress === undefined
  })
  const opens = policies.filter(({ spec }) =>
    spec.ingress?.some((rule: Raw) => rule.from === undefined && rule.ports === undefined),
  )
  return [
    ...(denies ? [] : ['nothing denies all traffic']),
    ...opens.map(({ metadata }) => `${metadata.name} lets everything in`),
  ]
}

/** Nobody leaves the cluster but who may, and nobody reaches what is private. */
function internetIn({ spec }: Workspace, permits: Permits, policies: readonly Raw[]): string[] {
  const peers: Raw[] = policies.flatMap((one) => (one.spec.egress ?? []).flatMap(({ to = [{}] }: Raw) => to))
  const outside = peers.filter((one) => !('podSelector' in one || 'namespaceSelector' in one))
  const isWanted = spec.internetAccess === 'Enabled' && !permits.refusesInternet(spec)
  const [v4] = outside.filter(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0')
  const checks: Readonly<Record<string, boolean>> = {
    'is open as the spec and the policy say': outside.length > 0 === isWanted,
    'is closed to private addresses':
      v4 === undefined || ['10.0.0.0/8', '169.254.0.0/16'].every((one) => v4.ipBlock.except.includes(one)),
  }
  return failing(checks, 'the internet')
}

/** Each key has a value that is hard to guess. */
function valuesIn({ spec: { secrets = [] } }: Workspace, found: readonly Raw[]): string[] {
  const dataOf = (name: string) => found.find(({ metadata }) => metadata.name === name)?.data ?? {}
  return secrets.flatMap(({ name, generate = [] }) =>
    generate.flatMap(({ key }) =>
      Buffer.from(dataOf(name)[key] ?? '', 'base64').length < 24 ? [`Secret ${name} has no value for ${key}`] : [],
    ),
  )
}

/**
 * Pods may do no more than they need. A container with rights that are not allowed needs nothing. One that is not allowed for what else is said of it may
 * exist from before, with the rights that it needs.
 */
function namespaceIn(
  { spec: { containerClusters = [] } }: Workspace,
  { held, permits }: { readonly held: ReadonlySet<string>; readonly permits: Permits },
  [namespace]: readonly Raw[],
): string[] {
  if (namespace === undefined) return []
  const level = namespace.metadata.labels?.[ENFORCE]
  const levelFor = (clusters: readonly Cluster[]) => {
    const containers = clusters.flatMap((one) => [...one.containers, ...(one.initContainers ?? [])])
    const isAbove = clusters.some(hasHostPort) || containers.some(({ privileged }) => privileged === true)
    return isAbove ? 'privileged' : 'baseline'
  }
  const least = levelFor(containerClusters.filter(({ name }) => !held.has(`Deployment ${name}`)))
  const most = levelFor(containerClusters.filter((one) => !permits.refusesRights(one)))
  return [least, most].includes(level) ? [] : [`its pods may do what ${level} allows, and need ${least}`]
}

/** The inventory has each machine and each container cluster, and the plays each machine with roles. */
function playsIn({ spec: { vms = [], containerClusters = [] } }: Workspace, [map]: readonly Raw[]): string[] {
  if (map === undefined) return []
  const groups: Raw[] = Object.values(parse(map.data['inventory.yaml'])?.all?.children ?? {})
  const plays: Raw[] = parse(map.data['build.yaml'])
  const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name).toSorted()
  const named = groups.flatMap(({ hosts = {} }) => Object.keys(hosts)).toSorted()
  const played = plays.map(({ hosts }) => hosts).filter((hosts) => hosts !== 'all')
  const checks: Readonly<Record<string, boolean>> = {
    'names its hosts': named.join() === namesOf([...vms, ...containerClusters]).join(),
    'builds its machines':
      played.toSorted().join() === namesOf(vms.filter(({ ansible }) => ansible?.roles?.build !== undefined)).join(),
  }
  return failing(checks, `ConfigMap ${map.metadata.name}`)
}

/** Returns what is wrong with the file of a container cluster. One that is held keeps its file as it is. */
export function hostsIn(
  { spec }: Pick<Workspace, 'spec'>,
  held: ReadonlySet<string>,
  { metadata: { name }, data }: Raw,
): string[] {
  const { vms = [], containerClusters = [] } = spec
  const own = containerClusters.find((one) => `${one.name}-hosts` === name)
  if (own === undefined || own.ignoreOnDeploy === true || held.has(`ConfigMap ${name}`)) return []
  const networks = (own.interfaces ?? []).map(({ network }) => network)
  const seen = [...vms, ...containerClusters].flatMap((one) =>
    (one.interfaces ?? []).filter(({ network }) => networks.includes(network)).map((nic) => ({ one, ...nic })),
  )
  // Others do not know a cluster by its host name, which may be the name of a member. One without an address is not in the file.
  const isTaken = seen.some(
    ({ one, ...nic }) =>
      addressesOf([nic]).length > 0 && [one.name, ...(one.aliases ?? [])].includes(own.hostname ?? own.name),
  )
  const wanted = seen.flatMap(({ one, ...nic }) => {
    const hostname = one === own && own.hostname !== undefined && !isTaken ? [own.hostname] : []
    return addressesOf([nic]).map((address) =>
      [address.split('/')[0], one.name, ...(one.aliases ?? []), ...hostname].join(' '),
    )
  })
  const lines: string[] = data.hosts.split('\n').filter((line: string) => /^(10\.|fd)/.test(line))
  return lines.toSorted().join() === wanted.toSorted().join() ? [] : [`ConfigMap ${name} has ${lines}, not ${wanted}`]
}

function isOff({ powerState }: { readonly powerState?: string }): boolean {
  return powerState === 'Halted'
}

function clusterIn({ spec }: Workspace, deployment: Raw): string[] {
  const { name } = deployment.metadata
  const wanted = (spec.containerClusters ?? []).find((one) => one.name === name)
  if (wanted === undefined || wanted.ignoreOnDeploy === true) return []
  const { replicas, strategy, template } = deployment.spec
  const wantedReplicas = isOff(spec) ? 0 : 1
  const images = template.spec.containers.map((one: Raw) => one.image)
  const networks: Raw[] = JSON.parse(template.metadata.annotations?.[NETWORKS] ?? '[]')
  const addresses = networks.flatMap(({ ips = [] }) => ips)
  const checks: Readonly<Record<string, boolean>> = {
    'is one pod, or none': replicas === wantedReplicas && strategy.type === 'Recreate',
    'runs its images': images.join() === wanted.containers.map(({ image }) => image).join(),
    'has its addresses': addresses.join() === addressesOf(wanted.interfaces).join(),
    'is on its networks': networks.every(({ name: on }, at) => {
      const { network = '', ...nic } = wanted.interfaces?.[at] ?? {}
      return isForPodsOf(network, on, addressesOf([nic]).length > 0)
    }),
    'has what else is said of it': isCovered(podWords(wanted), template.spec),
    'has no token': template.spec.automountServiceAccountToken === false,
    'runs, or is off': (deployment.status?.availableReplicas ?? 0) === wantedReplicas,
  }
  return failing(checks, `Deployment ${name}`)
}

/** A pod gets each route of its networks, except where it is the next hop itself; or what all pods share, and the status says that something is missing. */
function routesIn({ spec, status }: Workspace, deployment: Raw, definitions: readonly Raw[]): string[] {
  const { name } = deployment.metadata
  const wanted = (spec.containerClusters ?? []).find((one) => one.name === name)
  if (wanted === undefined || wanted.ignoreOnDeploy === true) return []
  const asked: Raw[] = JSON.parse(deployment.spec.template.metadata.annotations?.[NETWORKS] ?? '[]')
  const told = status?.components?.find((one) => one.kind === 'ContainerCluster' && one.name === name)
  const lacks = (wanted.interfaces ?? []).some(({ network, ...nic }, at) => {
    const own = addressesOf([nic])
    const { routes = [], rangeGateway } = spec.networks?.find((one) => one.name === network) ?? {}
    const wide = rangeGateway === undefined ? [] : elsewhereFor(spec, wanted, network)
    const usable = [
      ...routes,
      ...wide.map((to) => ({ destinationNetworkCidr: to, nextHopIpAddress: rangeGateway ?? '' })),
    ].filter(({ nextHopIpAddress: hop }) => own.length > 0 && !own.some((address) => address.split('/')[0] === hop))
    const definition = definitions.find(({ metadata }) => metadata.name === asked[at]?.name)
    const has: Raw[] = JSON.parse(definition?.spec.config ?? '{}').ipam?.routes ?? []
    const texts = usable.map((one) => `${one.destinationNetworkCidr} by ${one.nextHopIpAddress}`)
    return has.map(({ dst, gw }) => `${dst} by ${gw}`).join() !== texts.join()
  })
  const says = /share, without that to /.test(told?.message ?? '')
  return told?.phase !== 'Ready' || lacks === says
    ? []
    : [`Deployment ${name} ${lacks ? 'lacks' : 'has'} its routes, and the status says: ${told.message}`]
}

/** What a default route leads to: everything, or the other networks where clients of a port of the node need replies. */
function elsewhereFor({ networks = [] }: Workspace['spec'], cluster: Cluster, own: string): readonly string[] {
  if (!hasHostPort(cluster)) return ['0.0.0.0/1', '128.0.0.0/1']
  const others = networks.filter(({ name }) => name !== own)
  return others
    .flatMap(({ cidr, cidrs = [] }) => (cidr === undefined ? cidrs : [cidr]))
    .filter((one) => !one.includes(':'))
}

/** What a pod has because of the words of its cluster, as Kubernetes names it. */
function podWords({ containers, initContainers, fsGroup, nodeSelector, tolerations, pullSecrets, overrides }: Cluster) {
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(tolerations !== undefined && { tolerations }),
    ...(fsGroup !== undefined && { securityContext: { fsGroup } }),
    ...(pullSecrets !== undefined && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    ...((overrides as Raw)?.spec as object | undefined),
    ...(initContainers !== undefined && { initContainers: initContainers.map(containerWords) }),
    containers: containers.map(containerWords),
  }
}

function containerWords(one: Partial<Cluster['containers'][number]>) {
  const { name, image, command, args, workingDir, stdin, tty, startupProbe, readinessProbe, livenessProbe } = one
  const { runAsUser, runAsGroup, privileged, env, devices = [], resources, capabilities, files = [] } = one
  return defined({
    ...{ name, image, command, args, workingDir, stdin, tty, startupProbe, readinessProbe, livenessProbe, env },
    securityContext: defined({ runAsUser, runAsGroup, privileged, capabilities }),
    ...(resources !== undefined || devices.length > 0
      ? {
          resources: {
            limits: {
              ...resources?.limits,
              ...Object.fromEntries(devices.map((device) => [`devices.kubevirt.io/${device}`, '1'])),
            },
          },
        }
      : {}),
    ...(files.length > 0 && { volumeMounts: files.map(({ path }) => ({ mountPath: path })) }),
  })
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Reports whether an object has all that is wanted. Items of lists may have others among them, in the same order. */
function isCovered(wanted: unknown, has: Raw): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(has)) return wanted.length === 0
    let from = 0
    return wanted.every((one) => {
      const at = has.findIndex((other, index) => index >= from && isCovered(one, other))
      from = at + 1
      return at !== -1
    })
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === has || String(wanted) === String(has)
  if (typeof has !== 'object' || has === null) return Object.keys(wanted).length === 0
  return Object.entries(wanted).every(([key, value]) => isCovered(value, has[key]))
}

/** A Service leads to the pods of its member alone, and exactly its ports are open there. */
function serviceIn(
  { spec }: Workspace,
  { metadata: { name }, spec: { type, selector, ports } }: Raw,
  deployments: readonly Raw[],
  policies: readonly Raw[],
): string[] {
  const wanted = (spec.services ?? []).find((one) => one.name === name)
  if (wanted === undefined) return []
  const isIn = (labels: Raw) => Object.entries(selector).every(([key, value]) => labels[key] === value)
  const found = deployments.filter((one) => isIn(one.spec.template.metadata.labels))
  const deployed = deployments.filter((one) => one.metadata.name === wanted.member)
  const targets = wanted.ports.map(({ port, targetPort = port, protocol = 'TCP' }) => `${targetPort}/${protocol}`)
  const opened = policies.find(({ metadata }) => metadata.name === `${name}-service`)?.spec
  const [rule, ...rules] = opened?.ingress ?? []
  const open: string[] = (rule?.ports ?? []).map(({ port, protocol }: Raw) => `${port}/${protocol}`)
  const checks: Readonly<Record<string, boolean>> = {
    'has its type': type === (wanted.type ?? 'ClusterIP'),
    'has its ports': ports.map(({ port }: Raw) => port).join() === wanted.ports.map(({ port }) => port).join(),
    'leads to its member alone': isDeepStrictEqual(found, deployed),
    'opens its ports alone': rules.length === 0 && isDeepStrictEqual(open.toSorted(), [...new Set(targets)].toSorted()),
    'opens its member alone': isDeepStrictEqual(opened?.podSelector, { matchLabels: selector }),
  }
  return failing(checks, `Service ${name}`)
}

function machineIn({ spec }: Workspace, machine: Raw): string[] {
  const { name } = machine.metadata
  const wanted = (spec.vms ?? []).find((one) => one.name === name)
  if (wanted === undefined || wanted.ignoreOnDeploy === true) return []
  const { vmDiskImageRef: ref, interfaces = [], vmDiskImageTemplate } = machine.spec
  const checks: Readonly<Record<string, boolean>> = {
    'names its image': ref.name === wanted.backingVMDiskImage && ref.namespace === FARM,
    'leaves images to its workspace': vmDiskImageTemplate === undefined,
    'has its addresses': addressesOf(interfaces).join() === addressesOf(wanted.interfaces).join(),
    'has its resources': machine.spec.resources?.cpu === wanted.resources?.cpu,
    'is on, or off': isOff(machine.spec) === isOff(spec),
    'has its run strategy': machine.metadata.annotations?.[ANNOTATIONS.runStrategy] === wanted.runStrategy,
    'has what else is said of it': isCovered(machineWords(wanted), machine.spec),
  }
  return failing(checks, `VirtualMachine ${name}`)
}

/** What a VirtualMachine says in the same words as its workspace. */
function machineWords({ os, firmware, tpm, readiness, overrides, nodeSelector, tolerations, ...vm }: Vm) {
  const { instancetype, preference, userData, userDataSecretRef, sysprepSecretRef, version, disks = [] } = vm
  return defined({
    ...{ os, firmware, tpm, readiness, overrides, nodeSelector, tolerations, instancetype, preference, userData },
    ...{ userDataSecretRef, sysprepSecretRef, version },
    disks: disks.map(({ name, size, bus, readOnly, backingVMDiskImage: image }) =>
      defined({
        name,
        size,
        bus,
        readOnly,
        ...(image !== undefined && { vmDiskImageRef: { namespace: FARM, name: image } }),
      }),
    ),
    interfaces: (vm.interfaces ?? []).map(({ network: _network, ...nic }) => defined(nic)),
    users: (vm.users ?? []).map(defined),
  })
}

/** One or several of each interface, or none. */
function addressesOf(interfaces: readonly Raw[] = []): string[] {
  return interfaces.flatMap(({ ipAddress, ipAddresses = [] }) => (ipAddress === undefined ? ipAddresses : [ipAddress]))
}

function failing(checks: Readonly<Record<string, boolean>>, title: string): string[] {
  return Object.entries(checks).flatMap(([what, holds]) =>
    holds ? [] : [`of ${title} it does not hold that it ${what}`],
  )
}

/** Returns the CNI configuration, or undefined if it is none of the operator's. */
export function parsed({ spec }: Raw): { readonly name: string; readonly bridge?: string } | undefined {
  try {
    const config = JSON.parse(spec?.config ?? '')
    return typeof config.name === 'string' && config.type === 'bridge' ? config : undefined
  } catch {
    return undefined
  }
}
