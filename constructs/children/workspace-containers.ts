import type { Construct } from 'constructs'
import { ANNOTATIONS, LABELS, PLACEMENT_GATE } from '../api/labels.ts'
import { overridePath } from '../api/overrides.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { isHalted } from '../api/power-state.ts'
import type { WorkspaceContainer, WorkspaceContainerCluster, WorkspaceSpec } from '../api/workspace.ts'
import { type NodeGroupAffinity, sameNodeAs } from './node-group.ts'
import { type NodePlacement, placementOf } from './placement.ts'
import { podOverrides } from './pod-overrides.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type ClaimsOfVolumes, presentClaimName } from './volume-claims.ts'
import { withOverrides } from './with-overrides.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata, workspaceLabels } from './workspace-child.ts'
import {
  type FileMount,
  type FilesVolume,
  type FolderVolume,
  fileMounts,
  filesVolume,
  folderVolumes,
} from './workspace-files.ts'
import { hostNameOf, hostsMounts, hostsVolume } from './workspace-hosts.ts'
import { ansibleName } from './workspace-names.ts'
import type { NetworksOfBefore } from './workspace-network.ts'
import { protocolOf } from './workspace-network-policies.ts'
import { ANSIBLE_VOLUME, clusterNodeGroup, mountedVolumes } from './workspace-node-group.ts'
import {
  type DefaultRoute,
  NETWORKS_ANNOTATION,
  type OwnRoutes,
  podNameservers,
  podNetworks,
} from './workspace-pod-network.ts'

export interface ContainerClusterProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly cluster: WorkspaceContainerCluster
  readonly driver: NetworkDriver
  /** Quota of the policy. If it limits `limits.cpu`, every container needs such a limit. */
  readonly quota?: Readonly<Record<string, string>> | undefined
  /** `requested` renders the cluster as versions up to 0.1.0 of the operator did. @default `configured` */
  readonly defaultRoute?: DefaultRoute
  /** When it has a NetworkAttachmentDefinition of its own for static routes. `never`: as earlier versions of the operator rendered it. @default `needed` */
  readonly ownRoutes?: OwnRoutes
  /** `free` renders the cluster as versions up to 0.1.0 of the operator did: the scheduler alone places its pod. @default `gated` */
  readonly placement?: 'gated' | 'free'
  /** `added` renders the cluster as earlier versions of the operator did: Kubernetes adds variables for each Service of the namespace. @default `none` */
  readonly serviceLinks?: 'none' | 'added'
  readonly networksOfBefore?: NetworksOfBefore | undefined
  /** Claims of volumes that were restored. @default none */
  readonly volumeClaims?: ClaimsOfVolumes | undefined
}

interface Amounts {
  readonly cpu?: string
  readonly memory?: string
}

/** By name of a resource that a device plugin offers. */
type Devices = Readonly<Record<`${typeof DEVICE_PLUGIN}${string}`, '1'>>

/** KubeVirt's virt-handler offers the devices of its node as resources of these names. */
const DEVICE_PLUGIN = 'devices.kubevirt.io/'

type ValueFrom = NonNullable<NonNullable<WorkspaceContainer['env']>[number]['valueFrom']>

/** As Kubernetes has it. */
type Probe = NonNullable<WorkspaceContainer['readinessProbe']>

interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: ValueFrom
}

type EnvSource = NonNullable<WorkspaceContainer['envFrom']>[number]

export interface ContainerSpec {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly workingDir?: string
  readonly stdin?: true
  readonly tty?: true
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly EnvSource[]
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts | (Amounts & Devices) }
  readonly securityContext?: {
    readonly privileged?: true
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] }
    readonly runAsUser?: number
    readonly runAsGroup?: number
  }
  readonly ports?: readonly { readonly containerPort: number; readonly hostPort?: number; readonly protocol: string }[]
  readonly volumeMounts?: readonly (
    | FileMount
    | { readonly name: string; readonly mountPath: string; readonly readOnly?: true; readonly subPath?: string }
  )[]
}

export interface PodSpec extends NodePlacement {
  readonly hostname: string
  readonly automountServiceAccountToken: false
  readonly enableServiceLinks?: false
  readonly schedulingGates?: readonly [{ readonly name: typeof PLACEMENT_GATE }]
  readonly dnsPolicy?: 'None'
  readonly dnsConfig?: { readonly nameservers: readonly string[] }
  readonly affinity?: NodeGroupAffinity
  readonly imagePullSecrets?: readonly { readonly name: string }[]
  readonly securityContext?: { readonly fsGroup: number }
  readonly initContainers?: readonly ContainerSpec[]
  readonly containers: readonly ContainerSpec[]
  readonly volumes?: readonly (
    | FilesVolume
    | FolderVolume
    | {
        readonly name: string
        readonly persistentVolumeClaim?: { readonly claimName: string }
        readonly configMap?: { readonly name: string }
      }
  )[]
}

export type DeploymentObject = WorkspaceChild<
  'Deployment',
  {
    /** 0 while the workspace is off. */
    readonly replicas: 0 | 1
    readonly strategy: { readonly type: 'Recreate' }
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly template: {
      readonly metadata: {
        readonly labels: Readonly<Record<string, string>>
        readonly annotations?: Readonly<Record<string, string>>
      }
      readonly spec: PodSpec
    }
  }
>

/** A container cluster: one pod, or none while its workspace is off. An address can be in use only once, so a new pod has a gate until the one before it is gone. */
export class ContainerCluster extends RenderedObject<DeploymentObject> {
  constructor(scope: Construct, id: string, props: ContainerClusterProps) {
    super(scope, id, deploymentOf(props))
  }
}

export function renderContainerCluster(props: ContainerClusterProps): DeploymentObject {
  return renderOne((chart) => new ContainerCluster(chart, 'Deployment', props))
}

function deploymentOf(props: ContainerClusterProps): DeploymentObject {
  const deployment = deploymentWithout(props)
  const values = podOverrides(props.cluster)
  if (values.length === 0) return deployment
  const { metadata, spec } = deployment
  const paths = values.map(({ steps }) => overridePath(['template', ...steps]))
  return {
    ...deployment,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [ANNOTATIONS.overrides]: paths.join(',') } },
    spec: { ...spec, template: withOverrides(spec.template, values) },
  }
}

/** Returns the cluster without its overrides. */
export function deploymentWithout(props: ContainerClusterProps): DeploymentObject {
  const { workspace, spec, cluster, driver } = props
  const nodeGroup = clusterNodeGroup(workspace, spec, cluster, driver)
  const own = { [LABELS.containerCluster]: cluster.name }
  const networks = podNetworks(props)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: workspaceChildMetadata({ workspace, name: cluster.name, labels: own }),
    spec: {
      replicas: isHalted(spec) ? 0 : 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { ...own, [LABELS.workspaceUid]: workspace.uid } },
      template: {
        metadata: {
          labels: {
            ...own,
            ...workspaceLabels(workspace),
            ...(nodeGroup !== undefined && { [LABELS.nodeGroup]: nodeGroup }),
          },
          ...(networks.length > 0 && { annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(networks) } }),
        },
        spec: podSpec(props, nodeGroup),
      },
    },
  }
}

function podSpec(
  { workspace, spec, cluster, quota, placement = 'gated', serviceLinks = 'none', volumeClaims }: ContainerClusterProps,
  nodeGroup: string | undefined,
): PodSpec {
  const { pullSecrets = [], initContainers = [] } = cluster
  const nameservers = podNameservers(spec, cluster)
  const mounted = [...mountedVolumes(cluster)].map((name) => volumeOf(workspace, name, volumeClaims))
  const files = [filesVolume(cluster), hostsVolume(spec, cluster)].filter((one) => one !== undefined)
  const volumes = [...mounted, ...files, ...folderVolumes(cluster)]
  const hasCpuLimit = quota?.['limits.cpu'] !== undefined
  const specOf = (container: WorkspaceContainer) =>
    containerSpec(container, hasCpuLimit, mountsOf(spec, cluster, container))
  return {
    hostname: hostNameOf(cluster),
    automountServiceAccountToken: false,
    // Such variables tell where other members are, and programs take them for their own settings.
    ...(serviceLinks === 'none' && { enableServiceLinks: false }),
    ...(placement === 'gated' && { schedulingGates: [{ name: PLACEMENT_GATE }] }),
    ...(nameservers.length > 0 && { dnsPolicy: 'None', dnsConfig: { nameservers } }),
    ...(nodeGroup !== undefined && { affinity: sameNodeAs(nodeGroup) }),
    ...placementOf(cluster),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    ...(initContainers.length > 0 && { initContainers: initContainers.map(specOf) }),
    containers: cluster.containers.map(specOf),
    ...(volumes.length > 0 && { volumes }),
    ...(cluster.fsGroup !== undefined && { securityContext: { fsGroup: cluster.fsGroup } }),
  }
}

function volumeOf(workspace: WorkspaceRef, name: string, volumeClaims: ClaimsOfVolumes | undefined) {
  return name === ANSIBLE_VOLUME
    ? { name, configMap: { name: ansibleName(workspace.name) } }
    : { name, persistentVolumeClaim: { claimName: presentClaimName(name, volumeClaims) } }
}

/** Leaves out members that the API server drops, such as an empty list, or false. */
function containerSpec(
  container: WorkspaceContainer,
  hasCpuLimit: boolean,
  volumeMounts: NonNullable<ContainerSpec['volumeMounts']>,
): ContainerSpec {
  const { name, image, env = [], envFrom = [], portMappings = [] } = container
  const { command = [], args = [], workingDir, stdin, tty } = container
  return {
    name,
    image,
    ...(command.length > 0 && { command }),
    ...(args.length > 0 && { args }),
    ...(workingDir !== undefined && { workingDir }),
    ...(stdin && { stdin }),
    ...(tty && { tty }),
    ...probesOf(container),
    ...(env.length > 0 && { env: env.map(envVar) }),
    ...(envFrom.length > 0 && { envFrom: envFrom.map(envSource) }),
    ...resourcesOf(container, hasCpuLimit),
    ...securityContextOf(container),
    ...(portMappings.length > 0 && {
      ports: portMappings.map(({ containerPort, hostPort, protocol }) => ({
        containerPort,
        ...(hostPort !== undefined && { hostPort }),
        protocol: protocolOf(protocol),
      })),
    }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
  }
}

function mountsOf(
  spec: WorkspaceSpec,
  cluster: WorkspaceContainerCluster,
  container: WorkspaceContainer,
): NonNullable<ContainerSpec['volumeMounts']> {
  const volumes = (container.volumeMounts ?? []).map((mount) => ({
    name: mount.name,
    mountPath: mount.containerPath,
    ...((mount.readOnly || mount.name === ANSIBLE_VOLUME) && { readOnly: true as const }),
    ...(mount.subPath !== undefined && { subPath: mount.subPath }),
  }))
  return [...volumes, ...fileMounts(cluster, container.name), ...hostsMounts(spec, cluster, container)]
}

function envVar({ name, value, valueFrom }: EnvVar): EnvVar {
  return { name, ...(value && { value }), ...(valueFrom !== undefined && { valueFrom }) }
}

function envSource({ prefix, secretRef, configMapRef }: EnvSource): EnvSource {
  const of = secretRef === undefined ? { configMapRef } : { secretRef }
  return { ...(prefix !== undefined && { prefix }), ...of }
}

function probesOf({ startupProbe, readinessProbe, livenessProbe }: WorkspaceContainer) {
  return {
    ...(startupProbe !== undefined && { startupProbe: probeOf(startupProbe) }),
    ...(readinessProbe !== undefined && { readinessProbe: probeOf(readinessProbe) }),
    ...(livenessProbe !== undefined && { livenessProbe: probeOf(livenessProbe) }),
  }
}

/** The API server leaves out a delay of 0, and has / for an empty path. */
function probeOf({ initialDelaySeconds, httpGet, ...probe }: Probe): Probe {
  return {
    ...probe,
    ...(httpGet !== undefined && { httpGet: { ...httpGet, path: httpGet.path || '/' } }),
    ...(initialDelaySeconds ? { initialDelaySeconds } : {}),
  }
}

function securityContextOf({
  capabilities: { add = [], drop = [] } = {},
  privileged,
  runAsUser,
  runAsGroup,
}: WorkspaceContainer): Pick<ContainerSpec, 'securityContext'> {
  const context = {
    ...(privileged && { privileged }),
    ...(add.length + drop.length > 0 && {
      capabilities: { ...(add.length > 0 && { add }), ...(drop.length > 0 && { drop }) },
    }),
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
  }
  return Object.keys(context).length === 0 ? {} : { securityContext: context }
}

/** Without a limit of its own, memory is limited to the request, and CPU time that others do not use is available. */
function resourcesOf(
  { resources: { cpu, memory, limits: own = {} } = {}, devices = [] }: WorkspaceContainer,
  hasCpuLimit: boolean,
): Pick<ContainerSpec, 'resources'> {
  const requests = amounts({ cpu, memory })
  const most = amounts({ cpu: own.cpu ?? (hasCpuLimit ? cpu : undefined), memory: own.memory ?? memory })
  const limits = devices.length === 0 ? most : { ...most, ...devicesOf(devices) }
  if (requests === undefined && limits === undefined) return {}
  return { resources: { ...(requests !== undefined && { requests }), ...(limits !== undefined && { limits }) } }
}

/** A container that has one of the resource has the device. */
function devicesOf(devices: NonNullable<WorkspaceContainer['devices']>): Devices {
  return Object.fromEntries(devices.map((device) => [`${DEVICE_PLUGIN}${device}` as const, '1' as const]))
}

function amounts({ cpu, memory }: { readonly [name in keyof Amounts]: string | undefined }): Amounts | undefined {
  if (cpu === undefined && memory === undefined) return undefined
  return { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) }
}
