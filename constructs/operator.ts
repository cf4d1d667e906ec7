/**
 * What the operator renders and decides with: `@open-terrain/constructs/operator`. Nothing here is promised: it changes with any release, together with
 * the operator. Files below must not be imported directly.
 */
export {
  ADOPTABLE_KINDS,
  ADOPTION_RULE,
  type Adoptable,
  type AdoptableKind,
  parseAdoptable,
} from './api/adoption.ts'
export {
  DATA_SYNC_CONDITION_RULES,
  DATA_SYNC_CONDITIONS,
  DATA_SYNC_IMAGE_FIELDS,
  DATA_SYNC_PHASES,
  DATA_SYNC_REASON_HELP,
  DATA_SYNC_REASONS,
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncReason,
  type DataSyncSpec,
  type DataSyncStatus,
  type DataSyncVm,
  dataSync,
  dataSyncImageName,
  IMAGE_MESSAGE_MAX,
  type ImageTriple,
  type ParsedDataSyncSpec,
  parseDataSyncSpec,
  triplesIn,
  withoutHash,
} from './api/data-sync.ts'
export { deletionWord } from './api/deletion-word.ts'
export { formatDuration, parseDuration } from './api/duration.ts'
export { fillImageUrl } from './api/image-url-template.ts'
export {
  ADDRESSINGS,
  type Addressing,
  INTERFACE_MODELS,
  type InterfaceModel,
  type InterfaceWords,
  isOnPodNetwork,
  staticAddresses,
} from './api/interface-words.ts'
export { ipText, isOverlapping, parseCidr, parseIp } from './api/ip-address.ts'
export { FINALIZERS, LAB_ISOLATION, MANAGER, PLACEMENT_GATE, SHARED_LABEL } from './api/labels.ts'
export { INSTANCETYPE_KINDS, PREFERENCE_KINDS } from './api/machine-instancetype.ts'
export { isWindows, OPERATING_SYSTEMS, type OperatingSystem, WINDOWS_PASSWORD_MAX } from './api/machine-os.ts'
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
export { problemsText, type SpecProblem } from './api/parse-spec.ts'
export {
  CONCURRENCY_MAX,
  isUrlAllowed,
  NETWORK_DRIVERS,
  type NetworkDriver,
  OPERATOR_NAMESPACE,
  type ParsedPolicy,
  POLICY_DEFAULTS,
  POLICY_KEYS,
  POLICY_NAME,
  POLICY_STATUS_NAME,
  type Policy,
  type PolicyKeyName,
  type PolicyProblem,
  parsePolicy,
  policyDefaultText,
  policyTexts,
} from './api/policy.ts'
export { POLICY_SCHEMA } from './api/policy-schema.ts'
export {
  effectiveRunStrategy,
  isHalted,
  POWER_STATES,
  type PowerState,
  RUN_STRATEGIES,
  type RunStrategy,
} from './api/power-state.ts'
export { compareQuantities, isSameAmount, parseMilliQuantity, parseQuantity } from './api/quantity.ts'
export { quietReasons, type ReasonHelp } from './api/reason-help.ts'
export { resourceSchema } from './api/resource-schema.ts'
export { RESOURCES } from './api/resources.ts'
export { type Condition, dnsLabel, objectName } from './api/shared.ts'
export {
  CERTIFICATE_ENDINGS,
  CREDENTIAL_KEYS,
  type CredentialKey,
  SOURCE_CREDENTIALS,
} from './api/source-credentials.ts'
export { isSameUrl } from './api/source-url.ts'
export { asUserDataBegins, isUserData, USER_DATA_BEGINNINGS, WINDOWS_USER_DATA_BEGINNINGS } from './api/user-data.ts'
export {
  type ParsedVirtualMachineSpec,
  parseVirtualMachineSpec,
  VIRTUAL_MACHINE_CONDITION_RULES,
  VIRTUAL_MACHINE_CONDITIONS,
  VIRTUAL_MACHINE_PHASES,
  VIRTUAL_MACHINE_REASON_HELP,
  VIRTUAL_MACHINE_REASONS,
  type VirtualMachineDisk,
  type VirtualMachineInterface,
  type VirtualMachinePhase,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
  type VirtualMachineUser,
  VM_DISK_IMAGE_MODES,
  type VMDiskImageMode,
  virtualMachine,
} from './api/virtual-machine.ts'
export { type CpuShape, cpuShape } from './api/virtual-machine-cpu.ts'
export { safeLogin } from './api/virtual-machine-logins.ts'
export { type SpecWarning, warningsOf } from './api/virtual-machine-warnings.ts'
export {
  type Artifact,
  type Attempt,
  type ParsedSpec,
  PHASES,
  parseVMDiskImageSpec,
  REASON_HELP,
  REASONS,
  RECLAIM_POLICIES,
  REQUESTER_MAX,
  type Reason,
  type ReclaimPolicy,
  revisionOf,
  SOURCE_TYPES,
  type SourceType,
  VM_DISK_IMAGE_CONDITION_RULES,
  VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImagePhase,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
  vmDiskImage,
} from './api/vm-disk-image.ts'
export {
  COMPONENT_MESSAGE_MAX,
  containersOf,
  type ParsedWorkspaceSpec,
  parseWorkspaceSpec,
  WORKSPACE_CONDITION_RULES,
  WORKSPACE_CONDITIONS,
  WORKSPACE_PHASES,
  WORKSPACE_REASON_HELP,
  WORKSPACE_REASONS,
  type WorkspaceComponent,
  type WorkspaceContainer,
  type WorkspaceContainerCluster,
  type WorkspaceNetwork,
  type WorkspacePhase,
  type WorkspaceReason,
  type WorkspaceSecret,
  type WorkspaceService,
  type WorkspaceSpec,
  type WorkspaceStatus,
  type WorkspaceVm,
  type WorkspaceVolume,
  workspace,
} from './api/workspace.ts'
export {
  PLAY_MESSAGE_MAX,
  PLAY_PHASES,
  PLAYS,
  type Play,
  type PlayPhase,
  type PlayRecord,
} from './api/workspace-ansible.ts'
export { cidrsOf, misplacedAddress, misplacedHop } from './api/workspace-cidrs.ts'
export { wrongDependency } from './api/workspace-dependencies.ts'
export { EXPIRY_ACTIONS, type ExpiryAction, type ExpirySource } from './api/workspace-expiry.ts'
export { asksForInternet } from './api/workspace-internet-access.ts'
export { WORKSPACE_LIMITS } from './api/workspace-limits.ts'
export {
  COPIED_TYPES,
  type CopiedType,
  type CopiedWorkspaceSecret,
  type GeneratedWorkspaceSecret,
  isCopiedSecret,
  isGeneratedSecret,
  SECRET_COPY_RULE,
} from './api/workspace-secrets.ts'
export {
  type ParsedWorkspaceSnapshotSpec,
  parseWorkspaceSnapshotSpec,
  type RestoredMember,
  type RestoredVolumeState,
  SNAPSHOT_DEADLINE,
  SNAPSHOT_MESSAGE_MAX,
  UNFILLED_MAX,
  WORKSPACE_SNAPSHOT_CONDITION_RULES,
  WORKSPACE_SNAPSHOT_CONDITIONS,
  WORKSPACE_SNAPSHOT_PHASES,
  WORKSPACE_SNAPSHOT_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASONS,
  type WorkspaceSnapshotMember,
  type WorkspaceSnapshotPhase,
  type WorkspaceSnapshotReason,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotSpec,
  type WorkspaceSnapshotStatus,
  workspaceSnapshot,
} from './api/workspace-snapshot.ts'
export { addKindWords } from './authoring/kind-words.ts'
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
  type EarlierCloudInit,
  earlierCloudInit,
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
  CORES_FROM_SPEC,
  type FieldsFromSpec,
  fieldsFromSpec,
  type MaybeFromSpec,
  namesFromSpec,
  SYSPREP_FROM_SPEC,
} from './children/fields-from-spec.ts'
export { type FirstStartParts, firstStartParts } from './children/first-start.ts'
export { generatedSecretRemarks, type MemberTitle } from './children/generated-secret-remarks.ts'
export { guestHostsHash, withGuestHosts } from './children/guest-hosts.ts'
export type { ChildMetadata, ChildOwnerReference, ImageChild, ImageRef } from './children/image-child.ts'
export {
  CLOUD_INIT_DISK,
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
export {
  adoptedVolume,
  RestoredVolume,
  type RestoredVolumeObject,
  type RestoredVolumeProps,
  renderRestoredVolume,
} from './children/restored-volume.ts'
export { userDataWarnings } from './children/user-data-warnings.ts'
export {
  rootDiskGeneration,
  rootDiskName,
  type VMChildNames,
  type VMRef,
  vmChildNames,
} from './children/virtual-machine-child.ts'
export {
  type ClaimsOfVolumes,
  isClaimOfVolume,
  presentClaim,
  presentClaimName,
  restoredClaimName,
  type VolumeClaim,
  type VolumeClaims,
  volumeClaimsIn,
  volumeClaimsText,
} from './children/volume-claims.ts'
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
  type AnsibleRenderingProps,
  areVariablesTooLarge,
  isAnsibleTooLarge,
  renderWorkspaceAnsible,
  WorkspaceAnsible,
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
export {
  INTERNET_POLICY,
  renderWorkspaceInternetAccess,
  WorkspaceInternetAccess,
  type WorkspaceInternetAccessProps,
} from './children/workspace-internet-access.ts'
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
  type NetworkDefinitionsProps,
  type NetworksOfBefore,
  renderWorkspaceNetwork,
  WorkspaceNetworkDefinitions,
} from './children/workspace-network.ts'
export {
  type IpBlock,
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
  unplayedWarnings,
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
  type VolumeStorageProps,
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
export { ADOPTION_POLICY } from './platform/adoption-policy.ts'
export { OPERATOR_SELECTOR } from './platform/operator-names.ts'
export { SECRET_COPY_POLICY } from './platform/secret-copy-policy.ts'
export { celRuleOf } from './schema/cel.ts'
export { type ConditionRule, type ConditionRules, conditionsText, type PassingIn } from './schema/condition-rules.ts'
export type { NameRule, PrinterColumn, Resource } from './schema/define-resource.ts'
export { forgetOrigins } from './schema/forget-origins.ts'
export { memoized, memoizedLately } from './schema/memoized.ts'
export type { StructuralSchema } from './schema/structural.ts'
