import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { OPERATOR_NAMESPACE, POLICY_DEFAULTS, POLICY_NAME } from '../api/policy.ts'
import { GROUP } from '../api/shared.ts'
import { workspace } from '../api/workspace.ts'
import { COPIED_TYPES } from '../api/workspace-secrets.ts'
import { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import { OWNER_ROLES } from '../children/workspace-owners.ts'
import { OWN_CONFIG_MAPS } from './access.ts'
import type { Validation } from './admission-policies.ts'
import { type MatchedResources, matchConstraints } from './match-constraints.ts'
import { OPERATOR_LABELS, OPERATOR_NAME } from './operator-names.ts'

/** What the confinement of the operator is given. */
export interface OperatorConfinementProps {
  /** Namespace of the operator. @default `sync-operator` */
  readonly namespace?: string
}

/** Kinds by API group. */
type Groups = Readonly<Record<string, readonly string[]>>

interface Confined {
  readonly groups: Groups
  /** CEL, with `variables.before` and `variables.after`, which are equal where an object is created or deleted. */
  readonly expression: string
  /** What the operator may do, as text that follows "the operator". */
  readonly message: string
  /** For `docs/access.md`, as text that follows "it may create, change and delete these only if". */
  readonly onlyIf: string
}

const ALL: MatchedResources['operations'] = ['CREATE', 'UPDATE', 'DELETE']
const ADMISSION = 'admissionregistration.k8s.io/v1'
/** On what CDI makes for a download, such as its claim for scratch space. */
const OF_CDI = "one.metadata.?labels['app'].orValue('') == 'containerized-data-importer'"
/** The claim that an importer fills, and whose volume then moves to its owner. CDI gives it neither the label nor those of the DataVolume. */
const PRIME_OF_CDI =
  "one.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == 'PersistentVolumeClaim' && one.metadata.name == 'prime-' + owner.uid)"

/** CEL: whether `object` has one of these labels, or an owner of our API. The operator cannot give either to an object that has neither. */
function isOurs(object: string, labels: readonly string[]): string {
  const hasLabel = labels.map((label) => `${object}.metadata.?labels['${label}'].hasValue()`)
  const isOwned = `${object}.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/'))`
  return [...hasLabel, isOwned].join(' || ')
}

/** CEL: whether the object is ours, before the write as well as after it. */
function staysOurs(labels: readonly string[], more = ''): string {
  return `[variables.before, variables.after].all(one, ${isOurs('one', labels)}${more})`
}

const IN_A_LAB = `namespaceObject.metadata.?labels['${LABELS.workspaceUid}'].hasValue()`
const OF_A_LAB = staysOurs([LABELS.workspaceUid])
/** CEL: whether a snapshot or restore of a machine or volume is for a point in time that somebody asked for. */
const ofAPoint = (object: string) =>
  `${object}.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/') && owner.kind == '${workspaceSnapshot.kind}')`
const VM_OR_IMAGE = [LABELS.imageUid, LABELS.vmUid]
/** An empty disk: with no volume that somebody has filled, and no source to be filled from. */
const OF_A_MACHINE = [
  `object.metadata.?labels['${LABELS.vmUid}'].hasValue()`,
  `object.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/') && owner.kind == 'VirtualMachine' && ` +
    `owner.uid == object.metadata.labels['${LABELS.vmUid}'])`,
  '!has(object.spec.volumeName) && !has(object.spec.selector) && !has(object.spec.dataSource) && !has(object.spec.dataSourceRef)',
].join(' && ')
/** Volumes that the operator gives to a machine. Others, such as a folder of the node or a token of a ServiceAccount, must have been there before. */
const OWN_VOLUMES =
  'variables.after.?spec.?template.?spec.?volumes.orValue([]).all(volume, has(volume.dataVolume) || has(volume.persistentVolumeClaim) || ' +
  'has(volume.cloudInitNoCloud) || has(volume.cloudInitConfigDrive) || volume.?sysprep.?secret.hasValue() || ' +
  "(request.operation != 'CREATE' && oldObject.?spec.?template.?spec.?volumes.orValue([]).exists(old, old == volume)))"

/** Nobody gets more than the rights of an owner. What gives more, and somebody tied to a Workspace, may still be deleted. Names of `system:` are of Kubernetes, ServiceAccounts among them. */
const OF_OWNERS = `(request.operation == 'DELETE' || (${[
  `variables.after.roleRef.name in [${Object.values(OWNER_ROLES)
    .map((name) => `'${name}'`)
    .join(', ')}]`,
  "variables.after.?subjects.orValue([]).all(one, one.kind in ['User', 'Group'] && !one.name.startsWith('system:'))",
].join(' && ')}))`

/** Those of a machine, in any namespace, and those of a Workspace, in the namespace that it has. */
const SECRET_OF_OURS = [
  `[variables.before, variables.after].all(one, one.metadata.?labels['${LABELS.vmUid}'].hasValue() || ` +
    `one.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion.startsWith('${GROUP}/') && owner.kind == 'VirtualMachine'))`,
  `(${IN_A_LAB} && [variables.before, variables.after].all(one, one.metadata.?ownerReferences.orValue([]).exists(owner, ` +
    `owner.apiVersion.startsWith('${GROUP}/') && owner.kind == '${workspace.kind}' && owner.name == request.namespace)))`,
].join(' || ')

/** A pod that mounts the volume can write every file below this folder. Kubernetes refuses `..` itself. */
const FOLDER_OF_A_LAB = [
  'has(object.spec.local)',
  "object.spec.local.path.contains('/' + object.spec.?claimRef.?namespace.orValue('') + '/')",
  `object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '${workspace.kind}' && owner.name == object.spec.?claimRef.?namespace.orValue(''))`,
].join(' && ')

/** A Service with addresses of others would take their traffic. One that somebody gave them may still be put right or deleted. */
const WITHOUT_ADDRESSES =
  "(request.operation == 'DELETE' || (object.spec.?externalIPs.orValue([]).size() == 0 && object.spec.?type.orValue('ClusterIP') != 'ExternalName'))"

/** What a Job that plays roles has. */
const PLAYS_ONLY = `variables.after.spec.template.spec.${[
  '?automountServiceAccountToken.orValue(true) == false',
  "?serviceAccountName.orValue('default') == 'default'",
  '?hostNetwork.orValue(false) == false',
  '?hostPID.orValue(false) == false',
  '?hostIPC.orValue(false) == false',
  '?initContainers.orValue([]).size() == 0',
  '?volumes.orValue([]).all(volume, has(volume.configMap) || volume.?projected.?sources.orValue([]).all(one, has(one.secret)) && has(volume.projected))',
  'containers.all(one, !one.?securityContext.?privileged.orValue(false) && one.?securityContext.?allowPrivilegeEscalation.orValue(true) == false)',
].join(' && variables.after.spec.template.spec.')}`

/** A Workspace that has an end of its own, and the word that it is then deleted, of which it has been warned. */
const HAS_ENDED = [
  "oldObject.?spec.?onExpiry.orValue('Halt') == 'Delete'",
  '(oldObject.?spec.?expiresAt.hasValue() || oldObject.?spec.?lifetime.hasValue())',
  "oldObject.?status.?expiry.?announced.orValue('Halt') == 'Delete'",
  'oldObject.?status.?expiry.?noticeTime.hasValue()',
].join(' && ')

/** Kinds that the operator may write only as its own. `docs/access.md` has a row for each. */
export const CONFINED: readonly Confined[] = [
  {
    groups: { '': ['namespaces'] },
    expression: [
      OF_A_LAB,
      // A Workspace and its namespace have one name.
      `(request.operation != 'CREATE' || object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '${workspace.kind}' && ` +
        `owner.name == object.metadata.name && owner.uid == object.metadata.?labels['${LABELS.workspaceUid}'].orValue('')))`,
    ].join(' && '),
    message: 'creates namespaces of Workspaces, and changes and deletes only namespaces that were created as such',
    onlyIf:
      'they were created as the namespace of a Workspace, with its label, its name and it as their owner. A namespace that exists cannot become one. So the Pod Security level of other namespaces cannot be lowered',
  },
  {
    groups: {
      '': ['resourcequotas'],
      apps: ['deployments'],
      'networking.k8s.io': ['networkpolicies'],
      'k8s.cni.cncf.io': ['network-attachment-definitions'],
    },
    expression: `${IN_A_LAB} && ${OF_A_LAB}`,
    message: 'writes such objects only for Workspaces, in their namespaces',
    onlyIf:
      "they are of a Workspace, in its namespace. A Deployment has privileged containers only if `allowPrivileged` is true in the policy's ConfigMap, and a NetworkPolicy lets pods send to addresses only if `allowInternetAccess` is, which is checked while that can be read",
  },
  {
    groups: { batch: ['jobs'] },
    expression: `${IN_A_LAB} && ${OF_A_LAB} && (request.operation == 'DELETE' || ${PLAYS_ONLY})`,
    message:
      'writes Jobs only for Workspaces, in their namespaces: without a token, with nothing of the node, and only with ConfigMaps and single keys of Secrets',
    onlyIf:
      'they are of a Workspace, in its namespace. Their pods have no token, no ServiceAccount but `default`, no network, processes or IPC of the node, and no init containers. Their containers are not privileged and cannot become so. Their volumes are ConfigMaps and projected Secrets',
  },
  {
    groups: { '': ['services'] },
    expression: `${IN_A_LAB} && ${OF_A_LAB} && ${WITHOUT_ADDRESSES}`,
    message: 'writes only Services of Workspaces, in their namespaces, without externalIPs and externalName',
    onlyIf:
      "they are of a Workspace, in its namespace, without `externalIPs`, and not of type `ExternalName`. Their type is one that `allowedServiceTypes` in the policy's ConfigMap names, which is checked while that can be read",
  },
  {
    groups: { 'rbac.authorization.k8s.io': ['rolebindings'] },
    expression: `${IN_A_LAB} && ${OF_A_LAB} && ${OF_OWNERS}`,
    message: 'gives owners of Workspaces, in their namespaces, the rights that are meant for them',
    onlyIf:
      'they are of a Workspace, in its namespace, for one of the two ClusterRoles of owners, and for no user or group of `system:`. One of another role or user may only be deleted',
  },
  {
    groups: { '': ['configmaps'] },
    expression: `variables.isInOwnNamespace ? [${OWN_CONFIG_MAPS.map((name) => `'${name}'`).join(', ')}].exists(name, name == request.name) : ${IN_A_LAB} && ${OF_A_LAB}`,
    message: 'writes only ConfigMaps of its own, and those of Workspaces in their namespaces',
    onlyIf:
      'they are of a Workspace, in its namespace, or the ledger of slots, or the status of the policy. It cannot write its own policy',
  },
  {
    groups: { '': ['persistentvolumes'] },
    expression: `${OF_A_LAB} && (request.operation != 'CREATE' || (${FOLDER_OF_A_LAB}))`,
    message: 'writes only volumes of Workspaces, and creates only local ones in a folder of the name of the Workspace',
    onlyIf:
      "they are of a Workspace. A new one is `local`, for a claim of that Workspace, in a folder of the Workspace's name. That this is `<localVolumeRoot>/<workspace>` is checked while the policy's ConfigMap can be read",
  },
  {
    groups: { '': ['persistentvolumeclaims'] },
    expression: `request.operation == 'CREATE' ? (${IN_A_LAB} && ${OF_A_LAB}) || (${OF_A_MACHINE}) : ${staysOurs([LABELS.workspaceUid, ...VM_OR_IMAGE], ` || ${OF_CDI} || ${PRIME_OF_CDI}`)}`,
    message:
      'creates claims of Workspaces in their namespaces, and empty disks of machines, and changes and deletes only those, and claims of images and machines',
    onlyIf:
      'they are of a Workspace, a machine, an image or a download of CDI. It creates only those of a Workspace, in its namespace, and empty disks of a machine, which name no volume and nothing to be filled from',
  },
  {
    groups: { '': ['pods'] },
    expression: staysOurs([LABELS.workspaceUid, ...VM_OR_IMAGE], ` || ${OF_CDI}`),
    message: 'changes and deletes only pods of Workspaces, of machines and of downloads',
    onlyIf: 'they are of a Workspace, a machine, an image or a download of CDI. It cannot create any',
  },
  {
    groups: { '': ['secrets'] },
    // The token controller fills Secrets of another type, and the operator can read them. One that somebody tied to a Workspace may still be deleted.
    expression: `(${SECRET_OF_OURS}) && (request.operation == 'DELETE' || variables.after.?type.orValue('Opaque') in [${COPIED_TYPES.map((type) => `'${type}'`).join(', ')}])`,
    message:
      'writes only Secrets with the cloud-init data of machines, and those of Workspaces in their namespaces, of types that no controller fills with tokens',
    onlyIf:
      'they are of a machine, or of a Workspace in its namespace, and of a type that is copied (Opaque, logins, TLS): no token of a ServiceAccount is made for it. One of another type may only be deleted',
  },
  {
    groups: { 'snapshot.storage.k8s.io': ['volumesnapshots'] },
    expression: `${staysOurs(VM_OR_IMAGE)} && (${[
      "request.operation != 'CREATE'",
      `object.metadata.?labels['${LABELS.imageUid}'].hasValue()`,
      `(${IN_A_LAB} && ${ofAPoint('object')})`,
    ].join(' || ')})`,
    message: 'takes snapshots only of images, and of volumes of Workspaces in their namespaces',
    onlyIf: 'they are of an image, or of a WorkspaceSnapshot in the namespace of a Workspace',
  },
  {
    groups: { 'snapshot.kubevirt.io': ['virtualmachinesnapshots'] },
    expression: `request.operation == 'CREATE' && ${IN_A_LAB} && ${ofAPoint('object')}`,
    message: 'takes snapshots of machines only for WorkspaceSnapshots, in the namespaces of Workspaces',
    onlyIf: 'they are of a WorkspaceSnapshot, in the namespace of a Workspace. It changes and deletes none',
  },
  {
    groups: { 'snapshot.kubevirt.io': ['virtualmachinerestores'] },
    expression: `${IN_A_LAB} && [variables.before, variables.after].all(one, ${ofAPoint('one')}) && !variables.after.?spec.?patches.hasValue()`,
    message:
      'restores machines only from WorkspaceSnapshots, in the namespaces of Workspaces, and without patches of machines',
    onlyIf:
      'they are of a WorkspaceSnapshot, in the namespace of a Workspace. It patches no machine by one, and deletes only such',
  },
  {
    groups: { 'cdi.kubevirt.io': ['datavolumes', 'datasources'] },
    expression: staysOurs(VM_OR_IMAGE),
    message: 'writes such objects only for images and machines',
    onlyIf: 'they are of an image or a machine',
  },
  {
    groups: { 'kubevirt.io': ['virtualmachines', 'virtualmachineinstances'] },
    expression: `${staysOurs([LABELS.vmUid])} && (request.resource.resource != 'virtualmachines' || request.operation == 'DELETE' || ${OWN_VOLUMES})`,
    message: 'writes only machines of its own kind VirtualMachine, whose volumes are disks and cloud-init data',
    onlyIf: 'they are of a machine. It adds no volumes to one but disks, claims and cloud-init data',
  },
  {
    groups: { [GROUP]: ['virtualmachines'] },
    // Elsewhere it sets and removes its finalizer.
    expression: `(${IN_A_LAB} && ${OF_A_LAB}) || (request.operation == 'UPDATE' && object.?spec == oldObject.?spec)`,
    message: 'writes the VirtualMachines of Workspaces, and no spec of others',
    onlyIf:
      'they are of a Workspace, in its namespace. On those elsewhere it sets finalizers and annotations, and no spec',
  },
  {
    groups: { [GROUP]: ['workspaces'] },
    expression: `request.operation == 'UPDATE' ? object.?spec == oldObject.?spec : request.operation == 'DELETE' && ${HAS_ENDED}`,
    message:
      'writes no spec of a Workspace, and deletes one only if its own spec says so and its status has the warning',
    onlyIf:
      'it deletes one whose own spec has an end and `onExpiry: Delete`, and whose status has the warning. It creates none, and writes no spec',
  },
  {
    groups: { [GROUP]: [workspaceSnapshot.plural] },
    // Annotations ask for a restore, which replaces disks.
    expression: `request.operation == 'UPDATE' && object.?spec == oldObject.?spec && ${['annotations', 'labels']
      .map((field) => `object.metadata.?${field} == oldObject.metadata.?${field}`)
      .join(' && ')}`,
    message: 'sets nothing but finalizers on WorkspaceSnapshots, and asks for no restore',
    onlyIf: 'it changes nothing of them but finalizers, so it asks for no restore. It creates and deletes none',
  },
]

/**
 * What RBAC cannot say about the operator's own ServiceAccount: that it may write only what is its own. Somebody who gets its token cannot lower the Pod
 * Security level of a namespace, nor run pods in the namespaces of others, nor write other people's Secrets.
 *
 * An object is the operator's if it has the label of an image, a machine or a Workspace, or an owner of that API. Every version of the operator has set both
 * when it created an object. It cannot set them later on an object that has neither.
 */
export class OperatorConfinement extends Construct {
  constructor(scope: Construct, id: string, { namespace = OPERATOR_NAMESPACE }: OperatorConfinementProps = {}) {
    super(scope, id)
    const isOperator = {
      name: 'is-the-operator',
      expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${OPERATOR_NAME}'`,
    }
    this.add(OPERATOR_NAME, {
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: matchConstraints(CONFINED.flatMap(({ groups }) => matchedOf(groups))),
        matchConditions: [isOperator],
        variables: [
          { name: 'before', expression: "request.operation == 'CREATE' ? object : oldObject" },
          { name: 'after', expression: "request.operation == 'DELETE' ? oldObject : object" },
          { name: 'isInOwnNamespace', expression: `request.namespace == '${namespace}'` },
        ],
        validations: CONFINED.map(validationOf),
      },
    })
    // The parameter is looked up before the condition: `Fail`, or `Deny`, would refuse everybody's objects while there is no ConfigMap, and also when
    // the API server has lost sight of it: https://github.com/kubernetes/kubernetes/issues/130887
    const byPolicy = (part: string, spec: object) =>
      this.add(`${OPERATOR_NAME}-${part}`, {
        spec: { failurePolicy: 'Ignore', paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, ...spec },
        paramRef: { name: POLICY_NAME, namespace, parameterNotFoundAction: 'Allow' },
      })
    byPolicy('volumes', {
      matchConstraints: matchConstraints(matchedOf({ '': ['persistentvolumes'] }, ['CREATE'])),
      matchConditions: [isOperator],
      variables: [{ name: 'root', expression: "params.?data['localVolumeRoot'].orValue('').trim()" }],
      validations: [LOCAL_VOLUME],
    })
    byPolicy('privileged', {
      matchConstraints: matchConstraints(matchedOf({ apps: ['deployments'] }, ['CREATE', 'UPDATE'])),
      matchConditions: [isOperator, HAS_ANOTHER_TEMPLATE],
      validations: [PRIVILEGED],
    })
    byPolicy('internet', {
      matchConstraints: matchConstraints(matchedOf({ 'networking.k8s.io': ['networkpolicies'] }, ['CREATE', 'UPDATE'])),
      matchConditions: [isOperator],
      validations: [INTERNET],
    })
    byPolicy('service-types', {
      matchConstraints: matchConstraints(matchedOf({ '': ['services'] }, ['CREATE', 'UPDATE'])),
      matchConditions: [isOperator, HAS_ANOTHER_TYPE],
      variables: [{ name: 'type', expression: "object.spec.?type.orValue('ClusterIP')" }],
      validations: [SERVICE_TYPE],
    })
  }

  private add(name: string, { spec, paramRef }: { readonly spec: object; readonly paramRef?: object }): void {
    const metadata = { name, labels: OPERATOR_LABELS }
    new ApiObject(this, name, { apiVersion: ADMISSION, kind: 'ValidatingAdmissionPolicy', metadata, spec })
    new ApiObject(this, `${name}-binding`, {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: name, validationActions: ['Deny'], ...(paramRef === undefined ? {} : { paramRef }) },
    })
  }
}

const LOCAL_VOLUME: Validation = {
  expression:
    "variables.root != '' && object.spec.?local.?path.orValue('').startsWith(variables.root + (variables.root.endsWith('/') ? '' : '/') + object.spec.?claimRef.?namespace.orValue('') + '/')",
  reason: 'Forbidden',
  message: 'the operator creates only local volumes below <localVolumeRoot>/<workspace>',
  messageExpression:
    "'the operator creates only local volumes below <localVolumeRoot>/<workspace>; key localVolumeRoot of ConfigMap ' + params.metadata.name + ' is \"' + variables.root + '\"'",
}

/** A pod that the policy does not allow any more may stay. */
const HAS_ANOTHER_TEMPLATE = {
  name: 'has-another-template',
  expression: "request.operation == 'CREATE' || object.spec.template.spec != oldObject.spec.template.spec",
}

const PRIVILEGED: Validation = {
  expression:
    "params.?data['allowPrivileged'].orValue('').trim() == 'true' || " +
    '!(object.spec.template.spec.containers + object.spec.template.spec.?initContainers.orValue([])).exists(c, c.?securityContext.?privileged.orValue(false))',
  reason: 'Forbidden',
  message: 'the operator runs privileged containers only where the policy key allowPrivileged is true',
  messageExpression:
    "'the operator runs privileged containers only where key allowPrivileged of ConfigMap ' + params.metadata.name + ' is \"true\"'",
}

/** A rule without `to` leads everywhere. */
const INTERNET: Validation = {
  expression:
    "params.?data['allowInternetAccess'].orValue('').trim() == 'true' || " +
    'object.spec.?egress.orValue([]).all(rule, rule.?to.orValue([]).size() > 0 && rule.to.all(peer, !has(peer.ipBlock)))',
  reason: 'Forbidden',
  message: 'the operator lets pods send to addresses only where the policy key allowInternetAccess is true',
  messageExpression:
    "'the operator lets pods send to addresses only where key allowInternetAccess of ConfigMap ' + params.metadata.name + ' is \"true\"'",
}

/** A Service that the policy does not allow any more may stay. */
const HAS_ANOTHER_TYPE = {
  name: 'has-another-type',
  expression:
    "request.operation == 'CREATE' || object.spec.?type.orValue('ClusterIP') != oldObject.spec.?type.orValue('ClusterIP')",
}

const SERVICE_TYPE: Validation = {
  expression:
    `params.?data['allowedServiceTypes'].orValue('${POLICY_DEFAULTS.allowedServiceTypes.join(',')}')` +
    ".matches('(^|[\\\\s,])' + variables.type + '($|[\\\\s,])')",
  reason: 'Forbidden',
  message: 'the operator makes only Services of types that the policy key allowedServiceTypes names',
  messageExpression:
    "'the operator makes no Service of type ' + variables.type + ': key allowedServiceTypes of ConfigMap ' + params.metadata.name + ' does not name it'",
}

function matchedOf(groups: Groups, operations = ALL): MatchedResources[] {
  return Object.entries(groups).map(([group, resources]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations,
    resources,
  }))
}

function validationOf({ groups, expression, message }: Confined): Validation {
  const isMatched = Object.entries(groups).flatMap(([group, resources]) =>
    resources.map((resource) => `(request.resource.group == '${group}' && request.resource.resource == '${resource}')`),
  )
  const text = `the operator ${message}`
  return {
    expression: `!(${isMatched.join(' || ')}) || (${expression})`,
    reason: 'Forbidden',
    message: text,
    messageExpression: `'${text}: ' + request.operation + ' of ' + request.resource.resource + ' ' + (request.?namespace.orValue('') == '' ? '' : request.namespace + '/') + request.?name.orValue('') + ' is refused'`,
  }
}
