/**
 * Public surface of the package: the API's kinds and rules, what the operator renders, and what teams and platform
 * engineers write. Everything here is promised to the outside; nothing below is to be imported directly.
 */
export { formatDuration, parseDuration } from './api/duration.ts'
export { ANNOTATIONS, FINALIZER, LABELS, MANAGER } from './api/labels.ts'
export { childName, labelValue, shortHash } from './api/names.ts'
export {
  isUrlAllowed,
  NETWORK_DRIVERS,
  type NetworkDriver,
  OPERATOR_NAMESPACE,
  type ParsedPolicy,
  POLICY_DEFAULTS,
  POLICY_KEYS,
  POLICY_NAME,
  POLICY_SCHEMA,
  type Policy,
  type PolicyKeyName,
  type PolicyProblem,
  parsePolicy,
  policyDefaultText,
} from './api/policy.ts'
export { compareQuantities, parseQuantity } from './api/quantity.ts'
export { type Condition, GROUP, VERSION } from './api/shared.ts'
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
  type ReasonHelp,
  type ReclaimPolicy,
  revisionOf,
  SOURCE_TYPES,
  type SourceType,
  type SpecProblem,
  type VMDiskImagePhase,
  type VMDiskImageSpec,
  type VMDiskImageSpecInput,
  type VMDiskImageStatus,
  vmDiskImage,
} from './api/vm-disk-image.ts'
export { VMDiskImage, type VMDiskImageProps } from './authoring/vm-disk-image.ts'
export {
  DataSource,
  type DataSourceObject,
  type DataSourceProps,
  type DataSourceSpec,
  renderDataSource,
} from './children/data-source.ts'
export {
  DataVolume,
  type DataVolumeObject,
  type DataVolumeProps,
  type DataVolumeSource,
  type DataVolumeSpec,
  type DiskSource,
  renderDataVolume,
} from './children/data-volume.ts'
export type { ChildMetadata, ChildOwnerReference, ImageChild, ImageRef } from './children/image-child.ts'
export { render } from './children/render.ts'
export {
  renderVolumeSnapshot,
  VolumeSnapshot,
  type VolumeSnapshotObject,
  type VolumeSnapshotProps,
  type VolumeSnapshotSpec,
} from './children/volume-snapshot.ts'
export { Crd, resourceSchema } from './platform/crd.ts'
export { Operator, type OperatorProps } from './platform/operator.ts'
export { type PolicyValues, SyncOperatorPolicy, type SyncOperatorPolicyProps } from './platform/policy.ts'
export type { PrinterColumn, Resource } from './schema/define-resource.ts'
export type { StructuralSchema } from './schema/structural.ts'
