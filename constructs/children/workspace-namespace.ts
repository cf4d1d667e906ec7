import type { Construct } from 'constructs'
import { BASELINE_CAPABILITIES } from '../api/policy-workspace-values.ts'
import { containersOf, type WorkspaceContainer, type WorkspaceSpec } from '../api/workspace.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import {
  clusterWideMetadata,
  type WorkspaceChild,
  type WorkspaceChildMetadata,
  type WorkspaceRef,
  workspaceChildMetadata,
} from './workspace-child.ts'

/** Levels of the Pod Security Standards that a workspace can have. The launcher pods of machines do not satisfy `restricted`. */
export type PodSecurityLevel = 'baseline' | 'privileged'

export interface WorkspaceNamespaceProps {
  readonly workspace: WorkspaceRef
  readonly podSecurity: PodSecurityLevel
}

export interface WorkspaceNamespaceObject {
  readonly apiVersion: 'v1'
  readonly kind: 'Namespace'
  readonly metadata: WorkspaceChildMetadata
}

/**
 * Returns the lowest level at which every container that the policy allows can run: `privileged` for a host port, for a capability beyond
 * `BASELINE_CAPABILITIES`, or for a container that is privileged itself. What the policy refuses does not raise the level, because it is not created.
 */
export function podSecurityLevel(
  { containerClusters = [] }: WorkspaceSpec,
  policy: {
    readonly allowHostPorts: boolean
    readonly allowedCapabilities: readonly string[]
    /** @default false */
    readonly allowPrivileged?: boolean
  },
): PodSecurityLevel {
  const isAllowed = ({ portMappings = [], capabilities, privileged }: WorkspaceContainer) =>
    (privileged !== true || policy.allowPrivileged === true) &&
    (policy.allowHostPorts || portMappings.every(({ hostPort }) => hostPort === undefined)) &&
    (capabilities?.add ?? []).every((name) => policy.allowedCapabilities.includes(name))
  // A cluster is created as a whole or not at all.
  const created = containerClusters.filter((cluster) => containersOf(cluster).every(isAllowed))
  const containers = created.flatMap(containersOf)
  const hasHostPort = containers.some(({ portMappings = [] }) =>
    portMappings.some(({ hostPort }) => hostPort !== undefined),
  )
  if (hasHostPort && policy.allowHostPorts) return 'privileged'
  if (containers.some(({ privileged }) => privileged === true)) return 'privileged'
  const added = containers.flatMap(({ capabilities }) => capabilities?.add ?? [])
  const isAbove = (name: string) => !BASELINE_CAPABILITIES.has(name) && policy.allowedCapabilities.includes(name)
  return added.some(isAbove) ? 'privileged' : 'baseline'
}

/** Reports whether any container of a workspace is to be privileged, whatever the policy says. */
export function hasPrivileged({ containerClusters = [] }: WorkspaceSpec): boolean {
  return containerClusters.flatMap(containersOf).some(({ privileged }) => privileged === true)
}

/** The namespace for all objects of a workspace. */
export class WorkspaceNamespace extends RenderedObject<WorkspaceNamespaceObject> {
  constructor(scope: Construct, id: string, props: WorkspaceNamespaceProps) {
    super(scope, id, namespaceOf(props))
  }
}

export function renderWorkspaceNamespace(props: WorkspaceNamespaceProps): WorkspaceNamespaceObject {
  return renderOne((chart) => new WorkspaceNamespace(chart, 'Namespace', props))
}

function namespaceOf({ workspace, podSecurity }: WorkspaceNamespaceProps): WorkspaceNamespaceObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: clusterWideMetadata({
      workspace,
      name: workspace.name,
      labels: { 'pod-security.kubernetes.io/enforce': podSecurity },
    }),
  }
}

export interface WorkspaceQuotaProps {
  readonly workspace: WorkspaceRef
  /** Quantities by resource, such as `requests.cpu`. */
  readonly hard: Readonly<Record<string, string>>
}

export type ResourceQuotaObject = WorkspaceChild<'ResourceQuota', { readonly hard: Readonly<Record<string, string>> }>

/** The limits on what one workspace may request. */
export class WorkspaceQuota extends RenderedObject<ResourceQuotaObject> {
  constructor(scope: Construct, id: string, props: WorkspaceQuotaProps) {
    super(scope, id, quotaOf(props))
  }
}

export function renderWorkspaceQuota(props: WorkspaceQuotaProps): ResourceQuotaObject {
  return renderOne((chart) => new WorkspaceQuota(chart, 'ResourceQuota', props))
}

function quotaOf({ workspace, hard }: WorkspaceQuotaProps): ResourceQuotaObject {
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: workspaceChildMetadata({ workspace, name: 'workspace' }),
    spec: { hard },
  }
}
