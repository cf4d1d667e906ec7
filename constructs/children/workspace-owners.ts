import type { Construct } from 'constructs'
import type { WorkspaceOwner } from '../api/workspace.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceChildMetadata, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import type { PodSecurityLevel } from './workspace-namespace.ts'

/**
 * ClusterRoles that are bound in the namespaces of workspaces, and nowhere else. The second one has no shells: in a container with a port or a
 * capability of its node, a shell is a way onto that node.
 */
export const OWNER_ROLES = {
  withShells: 'open-terrain-workspace-owner',
  withoutShells: 'open-terrain-workspace-owner-no-shells',
} as const

export interface WorkspaceOwnersProps {
  readonly workspace: WorkspaceRef
  readonly owners: readonly WorkspaceOwner[]
  readonly podSecurity: PodSecurityLevel
  /** Whether owners have shells at the level `privileged` too. */
  readonly allowPrivilegedExec: boolean
}

export interface RoleBindingObject {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1'
  readonly kind: 'RoleBinding'
  readonly metadata: WorkspaceChildMetadata
  readonly roleRef: { readonly apiGroup: string; readonly kind: 'ClusterRole'; readonly name: string }
  readonly subjects: readonly { readonly apiGroup: string; readonly kind: string; readonly name: string }[]
}

const RBAC = 'rbac.authorization.k8s.io'

/** The rights of the owners. Its name is that of its role, because the role of a RoleBinding cannot be changed. */
export class WorkspaceOwners extends RenderedObject<RoleBindingObject> {
  constructor(scope: Construct, id: string, props: WorkspaceOwnersProps) {
    super(scope, id, ownersOf(props))
  }
}

export function renderWorkspaceOwners(props: WorkspaceOwnersProps): RoleBindingObject {
  return renderOne((chart) => new WorkspaceOwners(chart, 'RoleBinding', props))
}

function ownersOf(props: WorkspaceOwnersProps): RoleBindingObject {
  const { workspace, owners, podSecurity, allowPrivilegedExec } = props
  const hasShells = podSecurity === 'baseline' || allowPrivilegedExec
  const name = hasShells ? OWNER_ROLES.withShells : OWNER_ROLES.withoutShells
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: workspaceChildMetadata({ workspace, name }),
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: owners.map(({ kind, name: subject }) => ({ apiGroup: RBAC, kind, name: subject })),
  }
}
