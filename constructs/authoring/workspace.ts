import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { dnsLabel } from '../api/shared.ts'
import { parseWorkspaceSpec, type WorkspaceSpecInput, workspace } from '../api/workspace.ts'
import { AuthoredObject } from './checked-spec.ts'

export interface WorkspaceProps extends WorkspaceSpecInput {
  /** `name` is required: it also names the namespace of the workspace. A DNS-1123 label of at most 63 characters. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/**
 * A lab: machines, containers, networks and volumes that belong together. Throws at synth, naming field and fix, if the API server would refuse the
 * object. It is cluster-scoped, even if its chart has a namespace.
 */
export class Workspace extends AuthoredObject {
  constructor(scope: Construct, id: string, props: WorkspaceProps) {
    super(scope, id, { resource: workspace, name: dnsLabel(), parse: parseWorkspaceSpec }, props)
  }
}
