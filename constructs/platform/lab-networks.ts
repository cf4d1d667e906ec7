import { workspace } from '../api/workspace.ts'
import { NETWORKS_ANNOTATION } from '../children/workspace-pod-network.ts'
import { matchConstraints } from './match-constraints.ts'

/** Annotations by which Multus attaches a pod to networks. */
const ANNOTATIONS = [NETWORKS_ANNOTATION, 'v1.multus-cni.io/default-network'] as const

const annotationOf = (object: string, key: string) => `${object}.metadata.?annotations['${key}'].orValue('')`
const asked = (object: string) => `[${ANNOTATIONS.map((key) => annotationOf(object, key)).join(', ')}]`

/**
 * CEL: whether a text names a network of this namespace. In a list of names, the namespace is before a slash, and Multus ignores blanks around it. In JSON
 * it is a member, whose name is read whatever its case.
 */
const NAMES_IT = [
  "text.matches('(^|[^a-z0-9.-])' + variables.lab + '[^a-z0-9.-]*/')",
  `text.matches('"(?i:namespace)"[ \\\\t\\\\r\\\\n]*:[ \\\\t\\\\r\\\\n]*"' + variables.lab + '"')`,
].join(' || ')

/**
 * `spec` of the admission policy that keeps pods of other namespaces out of the networks of Workspaces. Multus attaches a pod to whatever network its
 * annotation names, unless its option `namespaceIsolation` is on. It is evaluated once for each Workspace, which is its parameter.
 */
export function labNetworks(): object {
  return {
    // With `Fail`, no pod could be created in the whole cluster while the kind of the parameter is not installed. Nobody can make the rule itself fail: what
    // it costs is within the limits of the API server for annotations of the greatest size.
    failurePolicy: 'Ignore',
    paramKind: { apiVersion: workspace.apiVersion, kind: workspace.kind },
    matchConstraints: matchConstraints({
      apiGroups: [''],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['pods'],
    }),
    matchConditions: [
      {
        name: 'asks-for-networks',
        expression: `${asked('object')}.exists(text, text != '') && (request.operation == 'CREATE' || ${asked('object')} != ${asked('oldObject')})`,
      },
    ],
    // Absent until the namespace exists: a Workspace that only has the name of a namespace of others changes nothing for them.
    variables: [
      { name: 'lab', expression: "params.?status.?namespace.orValue('')" },
      { name: 'isElsewhere', expression: "variables.lab != '' && variables.lab != request.namespace" },
    ],
    validations: [
      {
        expression: `!variables.isElsewhere || !${asked('object')}.exists(text, ${NAMES_IT})`,
        reason: 'Forbidden',
        message: 'the pod asks for a network of a Workspace, and is not in its namespace',
        messageExpression: `'the pod asks for a network of namespace ' + variables.lab + ', which is of Workspace ' + params.metadata.name + ': only pods of that namespace are attached to it'`,
      },
      {
        // An escaped letter would hide the name of a namespace.
        expression: `!variables.isElsewhere || !${asked('object')}.exists(text, text.contains('\\\\u'))`,
        reason: 'Forbidden',
        message: `the annotation ${NETWORKS_ANNOTATION} has an escape of JSON: write all letters as they are`,
      },
    ],
  }
}
