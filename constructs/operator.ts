/**
 * What the operator renders and decides with: `@open-terrain/constructs/operator`. Nothing here is promised: it changes with any release, together with
 * the operator. Files below must not be imported directly.
 */
export { dataSyncImageName, IMAGE_MESSAGE_MAX, type ImageTriple, triplesIn } from './api/data-sync.ts'
export { fillImageUrl } from './api/image-url-template.ts'
export {
  ADDRESSINGS,
  type Addressing,
  type InterfaceWords,
  isOnPodNetwork,
  staticAddresses,
} from './api/interface-words.ts'
export { ipText, isOverlapping, parseIp } from './api/ip-address.ts'
export { FINALIZERS, LAB_ISOLATION, MANAGER, PLACEMENT_GATE, SHARED_LABEL } from './api/labels.ts'
export { isWindows, WINDOWS_PASSWORD_MAX } from './api/machine-os.ts'
export { keysOfNoLabel } from './api/machine-placement.ts'
export { childName, labelValue, shortHash, uuidFrom } from './api/names.ts'
export { type OverrideNode, verdictOn, verdictOnField } from './api/override-verdicts.ts'
export {
  notAllowedOverride,
  OVERRIDE_ROOTS,
  OVERRIDE_VALUES_MAX,
  OVERRIDES_MAX,
  type OverriddenValue,
  type OverrideRoot,
  type OverrideStep,
  overridePath,
  overrideSteps,
  type ReadOverrides,
  type RefusedOverride,
  readOverrides,
  whyNotAllowed,
} from './api/overrides.ts'
export { POLICY_SCHEMA, policyDefaultText, policyTexts } from './api/policy.ts'
export { effectiveRunStrategy, isHalted } from './api/power-state.ts'
export { compareQuantities, isSameAmount, parseMilliQuantity } from './api/quantity.ts'
export { RESOURCES } from './api/resources.ts'
export { dnsLabel, objectName } from './api/shared.ts'
export { CERTIFICATE_ENDINGS } from './api/source-credentials.ts'
export { isSameUrl } from './api/source-url.ts'
export { asUserDataBegins, isUserData, USER_DATA_BEGINNINGS, WINDOWS_USER_DATA_BEGINNINGS } from './api/user-data.ts'
export { type CpuShape, cpuShape } from './api/virtual-machine-cpu.ts'
export { safeLogin } from './api/virtual-machine-logins.ts'
export { type SpecWarning, warningsOf } from './api/virtual-machine-warnings.ts'
export { REQUESTER_MAX, revisionOf } from './api/vm-disk-image.ts'
export { COMPONENT_MESSAGE_MAX, containersOf } from './api/workspace.ts'
export { PLAY_MESSAGE_MAX, type PlayRecord } from './api/workspace-ansible.ts'
export { cidrsOf, misplacedAddress, misplacedHop } from './api/workspace-cidrs.ts'
export { EXPIRY_ACTIONS, type ExpiryAction, type ExpirySource } from './api/workspace-expiry.ts'
export { WORKSPACE_LIMITS } from './api/workspace-limits.ts'
export { GENERATED_LENGTH, isCopiedSecret, isGeneratedSecret, SECRET_COPY_RULE } from './api/workspace-secrets.ts'
export { SNAPSHOT_DEADLINE, SNAPSHOT_MESSAGE_MAX } from './api/workspace-snapshot.ts'
export {
  CloneDataVolume,
  type CloneDataVolumeObject,
  type CloneDataVolumeProps,
  type CloneDataVolumeSpec,
  cloneSize,
  renderCloneDataVolume,
} from './children/clone-data-volume.ts'
export {
  type GuestInterface,
  renderNetworkData,
  type StaticRoute,
  usableRoutes,
} from './children/cloud-init-network-data.ts'
export {
  type CloudInitData,
  type CloudInitProps,
  CloudInitSecret,
  type CloudInitSecretObject,
  type CloudInitSecretProps,
  cloudInitFingerprint,
  cloudInitHash,
  renderCloudInit,
  renderCloudInitSecret,
} from './children/cloud-init-secret.ts'
export { type CloudInitUser, ownConfig, renderUserData, type UserDataProps } from './children/cloud-init-user-data.ts'
export {
  DataSource,
  type DataSourceObject,
  type DataSourceProps,
  type DataSourceSpec,
  renderDataSource,
} from './children/data-source.ts'
export {
  DATA_SYNC_IMAGE_FIELDS,
  type DataSyncImageObject,
  type DataSyncImageProps,
  imageSpecOf,
  isImageFor,
  renderDataSyncImage,
} from './children/data-sync-image.ts'
export {
  DataVolume,
  type DataVolumeObject,
  type DataVolumeProps,
  type DataVolumeSource,
  type DataVolumeSpec,
  type DiskSource,
  renderDataVolume,
} from './children/data-volume.ts'
export {
  type FieldsFromSpec,
  fieldsFromSpec,
  type MaybeFromSpec,
  namesFromSpec,
  SYSPREP_FROM_SPEC,
} from './children/fields-from-spec.ts'
export { type FirstStartParts, firstStartParts } from './children/first-start.ts'
export { guestHostsHash, withGuestHosts } from './children/guest-hosts.ts'
export type { ChildMetadata, ChildOwnerReference, ImageChild, ImageRef } from './children/image-child.ts'
export {
  guestNames,
  KubeVirtVirtualMachine,
  type KubeVirtVirtualMachineObject,
  type KubeVirtVirtualMachineProps,
  type KubeVirtVirtualMachineSpec,
  ROOT_DISK,
  renderKubeVirtVirtualMachine,
  SYSPREP_DISK,
} from './children/kubevirt-virtual-machine.ts'
export { withMacAddresses } from './children/mac-address.ts'
export {
  DiskClaim,
  type DiskClaimObject,
  type DiskClaimProps,
  diskClaimName,
  type GuestDataDisk,
  isDiskClaimName,
  renderDiskClaim,
} from './children/machine-disks.ts'
export {
  hardwareOf,
  type MachineHardware,
  WINDOWS_FROM_SPEC,
  type WindowsHardware,
} from './children/machine-hardware.ts'
export {
  type GuestMatcher,
  type GuestMatchers,
  type MachineMatchers,
  matchersOf,
  type PresentMatchers,
} from './children/machine-matchers.ts'
export { memberNamesIn } from './children/member-names.ts'
export {
  MemberRestore,
  type MemberRestoreObject,
  type MemberRestoreProps,
  memberRestoreName,
  renderMemberRestore,
} from './children/member-restore.ts'
export {
  type MachineSnapshotObject,
  MemberSnapshot,
  type MemberSnapshotObject,
  type MemberSnapshotProps,
  memberSnapshotName,
  renderMemberSnapshot,
  type VolumePointObject,
} from './children/member-snapshot.ts'
export {
  PLAYS_FOLDER,
  type PlayFileName,
  type PlayLogin,
  type PlayVariable,
  playEnv,
  playFiles,
} from './children/play-files.ts'
export { podNames } from './children/pod-overrides.ts'
export { RenderedObject } from './children/rendered-object.ts'
export { userDataWarnings } from './children/user-data-warnings.ts'
export {
  rootDiskGeneration,
  rootDiskName,
  type VMChildNames,
  type VMRef,
  vmChildNames,
} from './children/virtual-machine-child.ts'
export {
  renderVolumeSnapshot,
  VolumeSnapshot,
  type VolumeSnapshotObject,
  type VolumeSnapshotProps,
  type VolumeSnapshotSpec,
} from './children/volume-snapshot.ts'
export { replacedBy, valueAtSteps, withOverrides, withoutValues } from './children/with-overrides.ts'
export {
  type AnsibleObject,
  areVariablesTooLarge,
  isAnsibleTooLarge,
  renderWorkspaceAnsible,
  WorkspaceAnsible,
  type WorkspaceAnsibleProps,
} from './children/workspace-ansible.ts'
export type { WorkspaceChild, WorkspaceChildMetadata, WorkspaceRef } from './children/workspace-child.ts'
export {
  ContainerCluster,
  type ContainerClusterProps,
  type ContainerSpec,
  type DeploymentObject,
  type PodSpec,
  renderContainerCluster,
} from './children/workspace-containers.ts'
export {
  type ClusterFilesObject,
  type ClusterFilesProps,
  ContainerClusterFiles,
  renderClusterFiles,
} from './children/workspace-files.ts'
export {
  type ClusterHostsObject,
  type ClusterHostsProps,
  ContainerClusterHosts,
  clusterHostsName,
  HOSTS_KEY,
  hostsVolume,
  renderClusterHosts,
} from './children/workspace-hosts.ts'
export { templateWarnings, unusedVolumeWarnings, wholeLabWarnings } from './children/workspace-lab-warnings.ts'
export {
  ABOUT_LOSSES,
  type MachineRequest,
  type MachineRequests,
  renderWorkspaceMachine,
  WorkspaceMachine,
  type WorkspaceMachineObject,
  type WorkspaceMachineProps,
} from './children/workspace-machine.ts'
export {
  ansibleName,
  claimName,
  isClusterNetworkName,
  type LinkNames,
  linkNames,
  linkNamesOfBefore,
  networkNames,
  persistentVolumeName,
  playsName,
} from './children/workspace-names.ts'
export {
  hasPrivileged,
  type PodSecurityLevel,
  podSecurityLevel,
  type ResourceQuotaObject,
  renderWorkspaceNamespace,
  renderWorkspaceQuota,
  WorkspaceNamespace,
  type WorkspaceNamespaceObject,
  type WorkspaceNamespaceProps,
  WorkspaceQuota,
  type WorkspaceQuotaProps,
} from './children/workspace-namespace.ts'
export {
  type NetworkAttachmentDefinitionObject,
  NetworkDefinition,
  type NetworkDefinitionProps,
  type NetworksOfBefore,
  renderWorkspaceNetwork,
  WorkspaceNetworkDefinitions,
  type WorkspaceNetworkProps,
} from './children/workspace-network.ts'
export {
  type NetworkPolicyObject,
  type NetworkPolicySpec,
  renderWorkspaceNetworkPolicies,
  WorkspaceNetworkPolicies,
  type WorkspaceNetworkPoliciesProps,
} from './children/workspace-network-policies.ts'
export { ANSIBLE_VOLUME } from './children/workspace-node-group.ts'
export {
  OWNER_ROLES,
  type RoleBindingObject,
  renderWorkspaceOwners,
  WorkspaceOwners,
  type WorkspaceOwnersProps,
} from './children/workspace-owners.ts'
export {
  areMounted,
  freePlayAddress,
  hasPlayLogin,
  hasPlays,
  PLAYER_CONTAINER,
  PLAYS_POLICY,
  PlayJob,
  type PlayJobObject,
  type PlayJobProps,
  type PlayRef,
  type PlaysConfigMapObject,
  PlaysNetworkPolicy,
  playImage,
  playJobName,
  playSecrets,
  playsOf,
  renderPlayJob,
  renderPlaysNetworkPolicy,
  renderWorkspacePlays,
  WorkspacePlays,
  type WorkspacePlaysProps,
  whyNotPlayable,
} from './children/workspace-plays.ts'
export {
  hasHostPort,
  NETWORKS_ANNOTATION,
  type PodNetwork,
  type PodNetworkProps,
  podNetworksIn,
  type RoutesNotShared,
  renderClusterNetworks,
  routesNotShared,
} from './children/workspace-pod-network.ts'
export {
  type CopiedSecret,
  copiedUidOf,
  copiedVersionOf,
  type GeneratedKey,
  GeneratedSecret,
  type GeneratedSecretObject,
  type GeneratedSecretProps,
  generatedKeysOf,
  renderGeneratedSecret,
  renderSecretCopy,
  SecretCopy,
  type SecretCopyObject,
  type SecretCopyProps,
} from './children/workspace-secret.ts'
export {
  ExposedMember,
  type ExposedMemberProps,
  renderExposedMember,
  type ServiceObject,
  serviceTypeOf,
} from './children/workspace-service.ts'
export {
  type ClaimObject,
  type PersistentVolumeObject,
  renderWorkspaceVolume,
  type WorkspaceVolumeProps,
  WorkspaceVolumeStorage,
} from './children/workspace-volume.ts'
export {
  clusterWarnings,
  DEFAULT_ROUTE_LEFT_OUT,
  machineDiskWarnings,
  machineNetworkWarnings,
  networkWarnings,
  podOverrideWarnings,
  serviceWarnings,
  volumeWarnings,
} from './children/workspace-warnings.ts'
export { SECRET_COPY_POLICY } from './platform/secret-copy-policy.ts'
