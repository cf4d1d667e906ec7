/**
 * What `@open-terrain/infra` and the tools of this repository take beside what is promised: `@open-terrain/constructs/infra`. The published package has it, since
 * the one of infra needs it, in exactly its own version. Nothing here is promised: it changes with any release.
 */
export { formatDuration, parseDuration } from './api/duration.ts'
export { parseCidr } from './api/ip-address.ts'
export { isUrlAllowed } from './api/policy.ts'
export { parseQuantity } from './api/quantity.ts'
export { fullName, runbookAnchor } from './platform/alerts.ts'
export { API_KINDS } from './platform/api-kinds.ts'
export { dashboardJson } from './platform/dashboard-json.ts'
export {
  type InstallationProblem,
  namespaceProblems,
  networkPolicyProblems,
  resourceProblems,
  variableProblems,
} from './platform/installation-problems.ts'
export { labIsolationRules } from './platform/lab-isolation-rules.ts'
export { manifestYaml } from './platform/manifest-yaml.ts'
export { isPrometheusDuration } from './platform/monitoring.ts'
export { heapFlag } from './platform/operator-heap.ts'
export { policyData } from './platform/policy.ts'
export { NOT_PRUNED, RETAIN_ANNOTATION } from './platform/retained.ts'
export { isJsonObject } from './schema/json-object.ts'
