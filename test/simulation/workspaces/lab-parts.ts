import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  ansibleName,
  claimName,
  networkNames,
  persistentVolumeName,
  volumeClaimsIn,
} from '@open-terrain/constructs/operator'
import { ownerIn } from '../../../operator/cluster/ownership.ts'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import * as types from '../../../operator/kube/resource-types.ts'
import { MACHINE, type Workspace } from '../../harness/kinds.ts'
import type { Chronicle } from '../chronicle.ts'
import type { Trace } from '../traces.ts'

/** Kinds of objects that a workspace owns, in the order of deletion. Kinds of one stage may be deleted at the same time. */
export const STAGES: readonly (readonly ResourceType[])[] = [
  [types.SERVICE],
  [MACHINE],
  [types.DEPLOYMENT],
  [types.CONFIG_MAP, types.JOB],
  [types.PERSISTENT_VOLUME_CLAIM, types.PERSISTENT_VOLUME, types.NETWORK_ATTACHMENT_DEFINITION],
  [types.SECRET],
  [types.NAMESPACE, types.NETWORK_POLICY, types.RESOURCE_QUOTA, types.ROLE_BINDING],
]
export const PART_TYPES: readonly ResourceType[] = STAGES.flat()

export function isType(resource: ResourceType, type: ResourceType): boolean {
  return resource.group === type.group && resource.kind === type.kind
}

/** Reports whether the object belongs to the workspace, which must be its controller, and is where the objects of the workspace are. */
export function isPartOf({ metadata }: KubeObject, workspace: KubeObject): boolean {
  const owner = ownerIn(metadata)
  const isHome = metadata.namespace === undefined || metadata.namespace === workspace.metadata.name
  return owner?.kind === 'Workspace' && owner.uid === workspace.metadata.uid && isHome
}

/** Returns all existing parts of a workspace. */
export function partsOf(chronicle: Chronicle, workspace: KubeObject): Trace[] {
  return PART_TYPES.flatMap((type) =>
    [...chronicle.traces.of(type).values()].filter(({ object }) => isPartOf(object, workspace)),
  )
}

/** Returns the names of the images that the disks of a machine are cloned from. */
export function imagesOf({
  backingVMDiskImage,
  disks = [],
}: NonNullable<Workspace['spec']['vms']>[number]): readonly string[] {
  return [backingVMDiskImage, ...disks.flatMap((disk) => disk.backingVMDiskImage ?? [])]
}

/** Returns what a workspace must have, as `Kind name`, by the design's rules for names, and what it may have: also what is not deployed. */
export function wantedParts({ metadata: { name, annotations }, spec }: Workspace, isLocal: boolean) {
  const { vms = [], containerClusters = [], networks = [], volumes = [], services = [], secrets = [] } = spec
  const deployed = <T extends { readonly ignoreOnDeploy?: boolean }>(all: readonly T[]) =>
    all.filter(({ ignoreOnDeploy }) => ignoreOnDeploy !== true)
  const hostsOf = (one: (typeof containerClusters)[number]) =>
    spec.names === 'hosts' && (one.interfaces ?? []).length > 0 ? [`ConfigMap ${one.name}-hosts`] : []
  const restored = volumeClaimsIn(annotations?.[ANNOTATIONS.volumeClaims])
  const claimOf = (volume: string) => restored.get(claimName(volume))?.claim ?? claimName(volume)
  const must = [
    `Namespace ${name}`,
    ...networks.flatMap((one) => {
      const names = networkNames(one.name)
      return [names.machines, names.pods].map((own) => `NetworkAttachmentDefinition ${own}`)
    }),
    ...volumes.map((one) => `PersistentVolumeClaim ${claimOf(one.name)}`),
    ...(isLocal ? volumes.map((one) => `PersistentVolume ${persistentVolumeName(name, one.name)}`) : []),
    ...secrets.map((one) => `Secret ${one.name}`),
    `ConfigMap ${ansibleName(name)}`,
    ...deployed(containerClusters).flatMap((one) => [...hostsOf(one), `Deployment ${one.name}`]),
    ...deployed(vms).map((one) => `VirtualMachine ${one.name}`),
    ...services.map((one) => `Service ${one.name}`),
  ]
  const may = [
    // The claim from before a restore stays for a while.
    ...[...restored.values()].map(({ replaced }) => `PersistentVolumeClaim ${replaced}`),
    `ConfigMap ${name}-plays`,
    ...containerClusters.flatMap((one) => [...hostsOf(one), `Deployment ${one.name}`]),
    ...vms.map((one) => `VirtualMachine ${one.name}`),
  ]
  return { must, may: new Set([...must, ...may]) }
}

/** Reports whether a NetworkAttachmentDefinition is one of a network for pods: that of all, or one for a container cluster alone. Without addresses they are on that of the machines. */
export function isForPodsOf(network: string, definition: string, hasAddress = true): boolean {
  const { pods, machines } = networkNames(network)
  if (!hasAddress) return definition === machines
  return definition.startsWith(pods) && /^(-[0-9a-f]{8})?$/.test(definition.slice(pods.length))
}

/** Returns the entries of the status, as `Kind name`. */
export function wantedComponents({ metadata: { name }, spec }: Workspace): string[] {
  const { vms = [], containerClusters = [], networks = [], volumes = [], services = [], secrets = [] } = spec
  return [
    `Namespace ${name}`,
    ...secrets.map((one) => `Secret ${one.name}`),
    ...new Set(vms.flatMap(imagesOf).map((image) => `Image ${image}`)),
    ...networks.map((one) => `Network ${one.name}`),
    ...volumes.map((one) => `Volume ${one.name}`),
    `Ansible ${ansibleName(name)}`,
    ...containerClusters.map((one) => `ContainerCluster ${one.name}`),
    ...vms.map((one) => `VirtualMachine ${one.name}`),
    ...services.map((one) => `Service ${one.name}`),
    ...(spec.owners === undefined ? [] : ['Owners owners']),
    ...(spec.internetAccess === 'Enabled' ? ['InternetAccess internet'] : []),
  ].toSorted()
}
