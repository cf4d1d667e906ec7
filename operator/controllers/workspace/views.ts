import type { WorkspaceStatus } from '@open-terrain/constructs'
import type { KubeObject } from '../../kube/kube-object.ts'
import { keptMetadata } from '../../runtime/kept-metadata.ts'
import { FINALIZER } from './decide/workspace-plan.ts'

/** A Workspace as its cache has it; the spec is unchecked, it may stem from an older schema. */
export interface WorkspaceView extends KubeObject {
  readonly spec: unknown
  readonly status: WorkspaceStatus
}

const FINALIZERS: ReadonlySet<string> = new Set([FINALIZER])

export function viewWorkspace(object: KubeObject): WorkspaceView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as WorkspaceView
  return { apiVersion, kind, metadata: keptMetadata(metadata, { finalizers: FINALIZERS }), spec, status }
}
