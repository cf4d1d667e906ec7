import { LABELS, MANAGER } from '../api/labels.ts'
import { labelValue } from '../api/names.ts'
import { workspace } from '../api/workspace.ts'
import type { ChildOwnerReference } from './image-child.ts'

/** The Workspace that a child is for. Its namespace has the same name. */
export interface WorkspaceRef {
  readonly name: string
  readonly uid: string
}

export interface WorkspaceChildMetadata {
  readonly name: string
  /** Absent on cluster-scoped objects. */
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences: readonly ChildOwnerReference[]
}

/** An object that the operator creates for a workspace, as the plain JSON that is sent. */
export interface WorkspaceChild<Kind extends string, Content = object> {
  readonly apiVersion: string
  readonly kind: Kind
  readonly metadata: WorkspaceChildMetadata
  readonly spec: Content
}

export function workspaceLabels({ name, uid }: WorkspaceRef): Readonly<Record<string, string>> {
  return { [LABELS.workspace]: labelValue(name), [LABELS.workspaceUid]: uid, [LABELS.managedBy]: MANAGER }
}

interface ChildNames {
  readonly workspace: WorkspaceRef
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Returns metadata for an object in the workspace's namespace. As on other children, nothing is copied from the user's object. */
export function workspaceChildMetadata(child: ChildNames): WorkspaceChildMetadata & { readonly namespace: string } {
  return { ...clusterWideMetadata(child), namespace: child.workspace.name }
}

/**
 * Returns metadata for a claim that a volume was restored to. The workspace is its owner and not its controller, so that an earlier operator, which does not know
 * of restored claims, does not find children in them that nothing asks for, and delete them.
 */
export function restoredClaimMetadata(child: ChildNames): WorkspaceChildMetadata & { readonly namespace: string } {
  const { ownerReferences, ...metadata } = workspaceChildMetadata(child)
  return { ...metadata, ownerReferences: ownerReferences.map(({ controller: _, ...owner }) => owner) }
}

/** Returns metadata for a cluster-scoped object, such as the namespace itself. */
export function clusterWideMetadata(child: ChildNames): WorkspaceChildMetadata {
  const { name, labels, annotations } = child
  return {
    name,
    labels: { ...labels, ...workspaceLabels(child.workspace) },
    ...(annotations !== undefined && { annotations }),
    ownerReferences: [
      {
        apiVersion: workspace.apiVersion,
        kind: workspace.kind,
        name: child.workspace.name,
        uid: child.workspace.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
}
