import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { objectName } from '../api/shared.ts'
import { parseWorkspaceSnapshotSpec, workspaceSnapshot } from '../api/workspace-snapshot.ts'
import { AuthoredObject } from './checked-spec.ts'
import type { WorkspaceSnapshotSpecInput } from './spec-props.ts'

/** How a point in time is taken: the fields of the spec of a WorkspaceSnapshot, beside the metadata. */
export interface WorkspaceSnapshotProps extends WorkspaceSnapshotSpecInput {
  /** `namespace` is the name of the Workspace. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/**
 * A point in time of a Workspace. Throws at synth, naming field and fix, if the API server would refuse the object.
 * @example
 * ```ts
 * import { WorkspaceSnapshot } from '@open-terrain/constructs'
 *
 * new WorkspaceSnapshot(chart, 'exam', { metadata: { name: 'before-exam', namespace: 'redblue' } })
 * ```
 */
export class WorkspaceSnapshot extends AuthoredObject {
  constructor(scope: Construct, id: string, props: WorkspaceSnapshotProps) {
    super(scope, id, { resource: workspaceSnapshot, name: objectName(), parse: parseWorkspaceSnapshotSpec }, props)
  }
}
