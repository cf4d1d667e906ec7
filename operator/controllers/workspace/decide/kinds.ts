import { vmDiskImage } from '@open-terrain/constructs/operator'
import type { ChildType } from '../../../runtime/plan.ts'
import { WORKSPACE_POD } from '../child-views.ts'
import type { ComponentKind } from './component-kind.ts'
import { ANSIBLE_KIND } from './components/ansible.ts'
import { CONTAINER_CLUSTER_KIND } from './components/container-cluster.ts'
import { IMAGE_KIND } from './components/image.ts'
import { INTERNET_ACCESS_KIND } from './components/internet-access.ts'
import { NAMESPACE_KIND } from './components/namespace.ts'
import { NETWORK_KIND } from './components/network.ts'
import { OWNERS_KIND } from './components/owners.ts'
import { SECRET_KIND } from './components/secret.ts'
import { SERVICE_KIND } from './components/service.ts'
import { VIRTUAL_MACHINE_KIND } from './components/virtual-machine.ts'
import { VOLUME_KIND } from './components/volume.ts'

/** All kinds of components. A workspace is created in this order, and removed in reverse order. */
export const KINDS: readonly ComponentKind[] = [
  NAMESPACE_KIND,
  INTERNET_ACCESS_KIND,
  OWNERS_KIND,
  SECRET_KIND,
  IMAGE_KIND,
  NETWORK_KIND,
  VOLUME_KIND,
  ANSIBLE_KIND,
  CONTAINER_CLUSTER_KIND,
  VIRTUAL_MACHINE_KIND,
  SERVICE_KIND,
]

/** The kinds of objects that workspaces own. */
export const OWNED_TYPES: readonly ChildType[] = KINDS.flatMap(({ types }) => types)

/** The kinds of objects that workspaces own, and those that they write or delete without owning them. */
export const WRITTEN_TYPES: readonly ChildType[] = [
  ...OWNED_TYPES,
  { type: WORKSPACE_POD, propagationPolicy: 'Background' },
  { type: vmDiskImage, propagationPolicy: 'Background' },
]
