import { LABELS } from '../api/labels.ts'
import { OPERATOR_NAMESPACE } from '../api/policy.ts'
import { BASELINE_CAPABILITIES } from '../api/policy-workspace-values.ts'
import type { PolicyVariable } from './admission-policies-source-url.ts'
import { matchConstraints } from './match-constraints.ts'
import { OPERATOR_NAME } from './operator-names.ts'

/** CEL: a list of the texts whose condition holds. */
function listOf(rows: Readonly<Record<string, string>>): string {
  return Object.entries(rows)
    .map(([text, condition]) => `(${condition} ? ['${text}'] : [])`)
    .join(' +\n')
}

const any = (condition: string) => `variables.containers.exists(c, ${condition})`
const notIn = (value: string, ...allowed: readonly string[]) =>
  `!(${value} in [${allowed.map((one) => `'${one}'`).join(', ')}])`
/** CEL: whether the condition holds for the security context of the pod or of a container. */
const anyContext = (condition: (context: string) => string) =>
  `(${condition('variables.spec.?securityContext')}) || ${any(condition('c.?securityContext'))}`

const isOtherLabel = (context: string) =>
  [
    notIn(
      `${context}.?seLinuxOptions.?type.orValue('')`,
      '',
      'container_t',
      'container_init_t',
      'container_kvm_t',
      'container_engine_t',
    ),
    `${context}.?seLinuxOptions.?user.orValue('') != ''`,
    `${context}.?seLinuxOptions.?role.orValue('') != ''`,
  ].join(' || ')

const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
]

const HANDLERS = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle.?postStart', 'lifecycle.?preStop']
const hasHost = HANDLERS.flatMap((handler) =>
  ['httpGet', 'tcpSocket'].map((action) => `c.?${handler}.?${action}.?host.orValue('') != ''`),
).join(' || ')

/** What the level `baseline` of the Pod Security Standards forbids, without what the operator itself may create. */
const FORBIDDEN = {
  hostNetwork: 'variables.spec.?hostNetwork.orValue(false)',
  hostPID: 'variables.spec.?hostPID.orValue(false)',
  hostIPC: 'variables.spec.?hostIPC.orValue(false)',
  hostPath: 'variables.spec.?volumes.orValue([]).exists(v, has(v.hostPath))',
  hostProcess: anyContext((context) => `${context}.?windowsOptions.?hostProcess.orValue(false)`),
  seLinuxOptions: anyContext(isOtherLabel),
  // In a user namespace of its own, a pod may see all of /proc.
  procMount: `variables.spec.?hostUsers.orValue(true) && ${any("c.?securityContext.?procMount.orValue('Default') != 'Default'")}`,
  seccompProfile: anyContext((context) => `${context}.?seccompProfile.?type.orValue('') == 'Unconfined'`),
  appArmorProfile:
    anyContext((context) => `${context}.?appArmorProfile.?type.orValue('') == 'Unconfined'`) +
    " || variables.annotations.exists(key, key.startsWith('container.apparmor.security.beta.kubernetes.io/') && " +
    "variables.annotations[key] != 'runtime/default' && !variables.annotations[key].startsWith('localhost/'))",
  sysctls: `variables.spec.?securityContext.?sysctls.orValue([]).exists(s, ${notIn('s.name', ...SYSCTLS)})`,
  'host of a probe': any(hasHost),
} as const

/** What goes beyond `baseline`, and that a Workspace may ask for. */
const OF_WORKSPACES = {
  privileged: any('c.?securityContext.?privileged.orValue(false)'),
  hostPort: any('c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) != 0)'),
  'capabilities.add': any(
    `c.?securityContext.?capabilities.?add.orValue([]).exists(a, ${notIn('a', ...BASELINE_CAPABILITIES)})`,
  ),
} as const

/** User names of a controller of Kubernetes: with credentials of its own, or those that all of them share. */
const controller = (name: string) =>
  `request.userInfo.username in ['system:serviceaccount:kube-system:${name}', 'system:kube-controller-manager']`
const ownedBy = (kind: string) =>
  `object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '${kind}' && owner.?controller.orValue(false))`

/**
 * Who may write it, by kind. A Deployment of the operator becomes a pod by the hands of two controllers. Nobody else has their names, so a pod with a
 * port of the node is one that the operator has asked for, whatever labels or owners others give to theirs.
 */
const writers = (namespace: string) =>
  [
    "request.resource.resource == 'pods'",
    `? ${controller('replicaset-controller')} && ${ownedBy('ReplicaSet')}`,
    `: request.resource.resource == 'replicasets' ? ${controller('deployment-controller')} && ${ownedBy('Deployment')}`,
    `: request.userInfo.username == 'system:serviceaccount:${namespace}:${OPERATOR_NAME}'`,
  ].join(' ')

const VARIABLES: readonly PolicyVariable[] = [
  { name: 'isPod', expression: "request.resource.resource == 'pods'" },
  { name: 'spec', expression: 'variables.isPod ? object.spec : object.spec.template.spec' },
  {
    name: 'annotations',
    expression:
      '(variables.isPod ? object.metadata.?annotations : object.spec.template.?metadata.?annotations).orValue({})',
  },
  {
    // A pod that exists can get nothing else.
    name: 'containers',
    expression:
      "(request.?subResource.orValue('') == 'ephemeralcontainers' ? [] : variables.spec.containers + variables.spec.?initContainers.orValue([])) + variables.spec.?ephemeralContainers.orValue([])",
  },
  { name: 'forbidden', expression: listOf(FORBIDDEN) },
  { name: 'ofWorkspaces', expression: listOf(OF_WORKSPACES) },
]

/**
 * `spec` of the admission policy for pods in the namespaces of Workspaces. A port of the node is beyond the level `baseline` of the Pod Security
 * Standards, so a namespace with one has the level `privileged`, which would let everybody who may create pods there own the node.
 * With this rule nothing beyond `baseline` is created there, but ports, capabilities and privileged containers that the operator has asked for.
 */
export function labPods(namespace: string = OPERATOR_NAMESPACE): object {
  const where = "'in the namespace of a Workspace: '"
  const onWorkloads = { apiVersions: ['*'], operations: ['CREATE', 'UPDATE'] } as const
  return {
    failurePolicy: 'Fail',
    matchConstraints: matchConstraints(
      [
        { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE'], resources: ['pods'] },
        { apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: ['pods/ephemeralcontainers'] },
        { apiGroups: ['apps'], resources: ['deployments', 'replicasets'], ...onWorkloads },
      ],
      { matchExpressions: [{ key: LABELS.workspaceUid, operator: 'Exists' }] },
    ),
    matchConditions: [
      {
        // What exists stays: it can be scaled, restarted and deleted.
        name: 'has-another-template',
        expression:
          "request.resource.resource == 'pods' || request.operation == 'CREATE' || object.spec.template.spec != oldObject.spec.template.spec",
      },
    ],
    variables: VARIABLES,
    validations: [
      {
        expression: 'variables.forbidden.size() == 0',
        reason: 'Forbidden',
        message: 'in the namespace of a Workspace, nothing beyond Pod Security level baseline is created',
        messageExpression: `${where} + variables.forbidden.join(', ') + ' is beyond Pod Security level baseline, remove it'`,
      },
      {
        expression: `variables.ofWorkspaces.size() == 0 || (${writers(namespace)})`,
        reason: 'Forbidden',
        message:
          'in the namespace of a Workspace, only the operator gives ports of the node, capabilities and privileges to containers',
        messageExpression: `${where} + variables.ofWorkspaces.join(', ') + ' is beyond Pod Security level baseline: only the operator sets it, for containers of the Workspace'`,
      },
    ],
  }
}
