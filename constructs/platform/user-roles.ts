import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { dataSync } from '../api/data-sync.ts'
import { GROUP } from '../api/shared.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import { OWNER_ROLES } from '../children/workspace-owners.ts'
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

/** What the remedies in the status of a workspace ask its owners to do, in its namespace. */
const OWNER_RULES: readonly AccessRule[] = [
  allow(GROUP, [virtualMachine.plural], [...READ, 'patch']),
  allow(GROUP, [workspaceSnapshot.plural], [...READ, 'create', 'patch', 'delete']),
  allow('snapshot.kubevirt.io', ['virtualmachinesnapshots', 'virtualmachinerestores'], READ),
  allow('snapshot.storage.k8s.io', ['volumesnapshots'], READ),
  allow('', ['pods', 'pods/log', 'events', 'services', 'persistentvolumeclaims', 'configmaps', 'resourcequotas'], READ),
  allow('apps', ['deployments', 'replicasets'], READ),
  allow('batch', ['jobs'], READ),
  allow('networking.k8s.io', ['networkpolicies'], READ),
  allow('k8s.cni.cncf.io', ['network-attachment-definitions'], READ),
  allow('kubevirt.io', ['virtualmachines', 'virtualmachineinstances'], READ),
  allow('cdi.kubevirt.io', ['datavolumes'], READ),
  // Made again by the operator.
  allow('', ['pods'], ['delete']),
  allow('apps', ['deployments'], ['delete']),
  // Without reading them: others may have passwords there.
  allow('', ['secrets'], ['create', 'delete']),
  // One with the plays of machines must not be replaced.
  allow('', ['configmaps'], ['create']),
  allow('', ['pods/portforward'], ['get', 'create']),
  allow('subresources.kubevirt.io', ['virtualmachineinstances/console', 'virtualmachineinstances/vnc'], ['get']),
  allow('subresources.kubevirt.io', ['virtualmachineinstances/portforward'], ['get']),
  allow(
    'subresources.kubevirt.io',
    ['virtualmachines/start', 'virtualmachines/stop', 'virtualmachines/restart'],
    ['update'],
  ),
]
const SHELLS = allow('', ['pods/exec', 'pods/attach'], ['get', 'create'])

const AGGREGATE_TO = (role: 'view' | 'edit') => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' })

const PLURALS = [vmDiskImage.plural, virtualMachine.plural, dataSync.plural, workspaceSnapshot.plural]

/**
 * ClusterRoles for the people who write objects of the API. `open-terrain-view` and `open-terrain-edit` are part of the `view`, `edit` and `admin` of
 * Kubernetes. Two are for the namespace of shared images, one is for authors of Workspaces, and two are what the operator gives to their owners. The right to read an image is not the right to use
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
    this.add(OWNER_ROLES.withShells, [...OWNER_RULES, SHELLS])
    this.add(OWNER_ROLES.withoutShells, OWNER_RULES)
  }

  private add(name: string, rules: readonly AccessRule[], labels: Record<string, string> = {}): void {
    new k8s.KubeClusterRole(this, name, {
      metadata: { name, labels: { ...PART_OF, ...labels } },
      rules: policyRules(rules),
    })
  }
}
