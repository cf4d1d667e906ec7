/**
 * What people write who author objects or roll out the operator: the kinds of the API with their specs and states, constructs for them, and the policy.
 * Everything here is promised: a break of it is a new major version. What platform teams install is in `@open-terrain/constructs/platform`.
 */
export {
  DATA_SYNC_CONDITIONS,
  DATA_SYNC_PHASES,
  DATA_SYNC_REASON_HELP,
  DATA_SYNC_REASONS,
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncReason,
  type DataSyncSpec,
  type DataSyncSpecInput,
  type DataSyncStatus,
  type DataSyncVm,
  dataSync,
  type ParsedDataSyncSpec,
  parseDataSyncSpec,
} from './api/data-sync.ts'
export { formatDuration, parseDuration } from './api/duration.ts'
export { INTERFACE_MODELS, type InterfaceModel } from './api/interface-words.ts'
export { parseCidr } from './api/ip-address.ts'
export { ANNOTATIONS, LABELS } from './api/labels.ts'
export { INSTANCETYPE_KINDS, PREFERENCE_KINDS } from './api/machine-instancetype.ts'
export { OPERATING_SYSTEMS, type OperatingSystem } from './api/machine-os.ts'
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
} from './api/policy.ts'
export { POWER_STATES, type PowerState, RUN_STRATEGIES, type RunStrategy } from './api/power-state.ts'
export { parseQuantity } from './api/quantity.ts'
export type { ReasonHelp } from './api/reason-help.ts'
export { type Condition, GROUP, VERSION } from './api/shared.ts'
export { CREDENTIAL_KEYS, type CredentialKey, SOURCE_CREDENTIALS } from './api/source-credentials.ts'
export {
  type ParsedVirtualMachineSpec,
  parseVirtualMachineSpec,
  VIRTUAL_MACHINE_CONDITIONS,
  VIRTUAL_MACHINE_PHASES,
  VIRTUAL_MACHINE_REASON_HELP,
  VIRTUAL_MACHINE_REASONS,
  type VirtualMachineDisk,
  type VirtualMachineInterface,
  type VirtualMachinePhase,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineSpecInput,
  type VirtualMachineStatus,
  type VirtualMachineUser,
  VM_DISK_IMAGE_MODES,
  type VMDiskImageMode,
  virtualMachine,
} from './api/virtual-machine.ts'
export {
  type Artifact,
  type Attempt,
  type ParsedSpec,
  PHASES,
  parseVMDiskImageSpec,
  REASON_HELP,
  REASONS,
  RECLAIM_POLICIES,
  type Reason,
  type ReclaimPolicy,
  SOURCE_TYPES,
  type SourceType,
  type VMDiskImagePhase,
  type VMDiskImageSpec,
  type VMDiskImageSpecInput,
  type VMDiskImageStatus,
  vmDiskImage,
} from './api/vm-disk-image.ts'
export {
  type ParsedWorkspaceSpec,
  parseWorkspaceSpec,
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
  type WorkspaceSpecInput,
  type WorkspaceStatus,
  type WorkspaceVm,
  type WorkspaceVolume,
  workspace,
} from './api/workspace.ts'
export { PLAY_PHASES, type Play, type PlayPhase } from './api/workspace-ansible.ts'
export {
  COPIED_TYPES,
  type CopiedType,
  type CopiedWorkspaceSecret,
  type GeneratedWorkspaceSecret,
} from './api/workspace-secrets.ts'
export {
  type ParsedWorkspaceSnapshotSpec,
  parseWorkspaceSnapshotSpec,
  type RestoredMember,
  WORKSPACE_SNAPSHOT_CONDITIONS,
  WORKSPACE_SNAPSHOT_PHASES,
  WORKSPACE_SNAPSHOT_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASONS,
  type WorkspaceSnapshotMember,
  type WorkspaceSnapshotPhase,
  type WorkspaceSnapshotReason,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotSpec,
  type WorkspaceSnapshotSpecInput,
  type WorkspaceSnapshotStatus,
  workspaceSnapshot,
} from './api/workspace-snapshot.ts'
export { DataSync, type DataSyncProps } from './authoring/data-sync.ts'
export {
  type LabContainerProps,
  LabContainers,
  type LabContainersProps,
  type LabEnvValue,
  type LabFile,
  type LabInitContainerProps,
  type PodInterfaceOptions,
} from './authoring/lab-containers.ts'
export { type LabAddress, LabMember } from './authoring/lab-member.ts'
export {
  type Hop,
  type LabHost,
  LabNetwork,
  type LabNetworkProps,
  type LabRoute,
  type OutsideAddress,
  outside,
} from './authoring/lab-network.ts'
export { LabSecret, type LabSecretProps, type PlainText, plainText, type SecretKey } from './authoring/lab-secret.ts'
export {
  type LabDisk,
  type LabImage,
  type LabRole,
  type LabUser,
  LabVm,
  type LabVmProps,
  type VmInterfaceOptions,
} from './authoring/lab-vm.ts'
export { type LabMount, LabVolume, type LabVolumeProps, type MountOptions } from './authoring/lab-volume.ts'
export { Release, type ReleaseProps } from './authoring/release.ts'
export { VirtualMachine, type VirtualMachineProps } from './authoring/virtual-machine.ts'
export { VMDiskImage, type VMDiskImageProps } from './authoring/vm-disk-image.ts'
export { type LabServiceProps, Workspace, type WorkspaceProps } from './authoring/workspace.ts'
export { WorkspaceSnapshot, type WorkspaceSnapshotProps } from './authoring/workspace-snapshot.ts'
export { render } from './children/render.ts'
export type { NameRule, PrinterColumn, Resource } from './schema/define-resource.ts'
export type { StructuralSchema } from './schema/structural.ts'
