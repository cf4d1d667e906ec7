/**
 * What platform teams install, and the policy: `@open-terrain/constructs/platform`. Everything here is promised, as in `@open-terrain/constructs`. It needs
 * cdk8s-plus-29, unlike the rest of the package.
 */
export {
  OPERATOR_NAMESPACE,
  type ParsedPolicy,
  POLICY_DEFAULTS,
  POLICY_KEYS,
  POLICY_NAME,
  POLICY_STATUS_NAME,
  type Policy,
  type PolicyKeyName,
  type PolicyProblem,
  type PolicyValues,
  parsePolicy,
} from '../api/policy.ts'
export {
  CONTAINER_DEVICES,
  type ContainerDevice,
  NETWORK_DRIVERS,
  type NetworkDriver,
  RECLAIM_POLICIES,
  type ReclaimPolicy,
  SERVICE_TYPES,
  type ServiceType,
} from '../api/policy-fields.ts'
export { SOURCE_TYPES, type SourceType } from '../api/source-type.ts'
export { type AccessRule, allow, CLUSTER_ACCESS, NAMESPACE_ACCESS } from './access.ts'
export {
  ADMISSION_ACTIONS,
  type AdmissionAction,
  type AdmissionChoices,
  AdmissionPolicies,
  type AdmissionPoliciesProps,
} from './admission-policies.ts'
export {
  ALERTS,
  type Alert,
  type AlertName,
  type AlertOverride,
  type AlertSeverity,
} from './alerts.ts'
export { Dashboard, type DashboardProps } from './dashboard.ts'
export { ALLOW_DELETION_ANNOTATION, DeletionGuard, type DeletionGuardProps } from './deletion-guard.ts'
export {
  INSTALLATION_PARTS,
  type Installation,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
  renderCrds,
  renderInstallation,
  renderMonitoring,
} from './installation.ts'
export { LabIsolation, type LabIsolationProps } from './lab-isolation.ts'
export { Monitoring, type MonitoringProps } from './monitoring.ts'
export { Namespaces, type NamespacesProps } from './namespaces.ts'
export { NetworkPolicies, type NetworkPoliciesOptions, type NetworkPoliciesProps } from './network-policies.ts'
export { Operator, type OperatorProps } from './operator.ts'
export { OperatorConfinement, type OperatorConfinementProps } from './operator-confinement.ts'
export {
  MEMORY_LIMIT,
  type OperatorDeploymentProps,
  type OperatorPodOptions,
  type Toleration,
} from './operator-deployment.ts'
export { type InstallationOwner, manifestsOwner } from './owner-guard.ts'
export { SyncOperatorPolicy, type SyncOperatorPolicyProps } from './policy.ts'
export { RECORDING_RULES } from './recording-rules.ts'
export { UserRoles } from './user-roles.ts'
