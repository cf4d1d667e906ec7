import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { dataSync } from '../api/data-sync.ts'
import { GROUP } from '../api/shared.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { type AccessRule, allow, READ } from './access.ts'
import { PART_OF } from './operator-names.ts'
import { policyRules } from './rbac.ts'

const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'] as const

/** For a RoleBinding in the namespace of images: its users may clone them for machines elsewhere. */
export const IMAGE_USER = 'open-terrain-image-user'
/** The same, for users who may also have images created there by the template of a machine. */
export const IMAGE_CREATOR = 'open-terrain-image-creator'

/** For a ClusterRoleBinding: its users may write Workspaces. Not a part of `edit` or `admin`, because a Workspace reaches further than these do. */
export const WORKSPACE_AUTHOR = 'open-terrain-workspace-author'

const AGGREGATE_TO = (role: 'view' | 'edit') => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' })

const PLURALS = [vmDiskImage.plural, virtualMachine.plural, dataSync.plural]

/**
 * ClusterRoles for the people who write objects of the API. `open-terrain-view` and `open-terrain-edit` are part of the `view`, `edit` and `admin` of
 * Kubernetes. Two are for the namespace of shared images, and one is for authors of Workspaces. The right to read an image is not the right to use
 * it: cloning a disk means reading all of it.
 */
export class UserRoles extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    this.add('open-terrain-view', [allow(GROUP, [...PLURALS, workspace.plural], READ)], AGGREGATE_TO('view'))
    this.add(
      'open-terrain-edit',
      [allow(GROUP, PLURALS, [...READ, ...WRITE]), allow(GROUP, [vmDiskImage.plural], ['use'])],
      AGGREGATE_TO('edit'),
    )
    this.add(IMAGE_USER, [allow(GROUP, [vmDiskImage.plural], [...READ, 'use'])])
    this.add(IMAGE_CREATOR, [allow(GROUP, [vmDiskImage.plural], [...READ, 'use', 'create'])])
    this.add(WORKSPACE_AUTHOR, [allow(GROUP, [workspace.plural], [...READ, ...WRITE])])
  }

  private add(name: string, rules: readonly AccessRule[], labels: Record<string, string> = {}): void {
    new k8s.KubeClusterRole(this, name, {
      metadata: { name, labels: { ...PART_OF, ...labels } },
      rules: policyRules(rules),
    })
  }
}
