/**
 * What people write who author objects: constructs for the kinds of the API, their props, and the labels and annotations that they meet. Everything here is
 * promised: a break of it is a new major version, and `crds-gen/generated/constructs.api.md` shows it. Platform teams find more in `@open-terrain/constructs/platform`.
 */
export { GROUP, VERSION } from './api/group.ts'
export { ANNOTATIONS, LABELS } from './api/labels.ts'
export type { AuthorWarning } from './authoring/author-warning.ts'
export type { AuthoredObject } from './authoring/checked-spec.ts'
export { DataSync, type DataSyncProps } from './authoring/data-sync.ts'
export {
  type LabContainerProps,
  LabContainers,
  type LabContainersProps,
  type LabEnvValue,
  type LabFile,
  type LabInitContainerProps,
  type LabProgramProps,
  type PodInterfaceOptions,
} from './authoring/lab-containers.ts'
export { type LabAddress, LabMember } from './authoring/lab-member.ts'
export {
  type AnyLabNetwork,
  type Hop,
  type LabHost,
  LabNetwork,
  type LabNetworkProps,
  type LabRoute,
  type OutsideAddress,
  outside,
} from './authoring/lab-network.ts'
export { type DefinedRole, defineRole, type LabRole } from './authoring/lab-role.ts'
export {
  LabSecret,
  type LabSecretProps,
  type PlainTextPassword,
  plainText,
  type SecretKey,
} from './authoring/lab-secret.ts'
export { LabService, type LabServiceProps } from './authoring/lab-service.ts'
export {
  type ImageOfApp,
  type LabDisk,
  type LabImage,
  type LabUser,
  LabVm,
  type LabVmProps,
  type VmInterfaceOptions,
} from './authoring/lab-vm.ts'
export { type LabMount, LabVolume, type LabVolumeProps, type MountOptions } from './authoring/lab-volume.ts'
export type { SpecPatch } from './authoring/merge-patch.ts'
export { type LabImageTemplate, Release, type ReleaseProps } from './authoring/release.ts'
export type * from './authoring/spec-props.ts'
export { VirtualMachine, type VirtualMachineProps } from './authoring/virtual-machine.ts'
export { VMDiskImage, type VMDiskImageProps } from './authoring/vm-disk-image.ts'
export { WARNING_TEXTS, type WarningId } from './authoring/warning-ids.ts'
export { Warnings } from './authoring/warnings.ts'
export { Workspace, type WorkspaceProps } from './authoring/workspace.ts'
export { WorkspaceSnapshot, type WorkspaceSnapshotProps } from './authoring/workspace-snapshot.ts'
export { render } from './children/render.ts'
