import type { WorkspaceStatus } from '@open-terrain/constructs'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

/** A Workspace as its cache keeps it. The spec is not validated: it may come from an older schema. */
export interface WorkspaceView extends KubeObject {
  readonly spec: unknown
  readonly status: WorkspaceStatus
}

export function viewWorkspace(object: KubeObject): WorkspaceView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as WorkspaceView
  return { apiVersion, kind, metadata: keptMetadata(metadata), spec, status }
}
