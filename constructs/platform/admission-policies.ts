import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { ADOPTION_RULE } from '../api/adoption.ts'
import { dataSync } from '../api/data-sync.ts'
import { ANNOTATIONS, LABELS } from '../api/labels.ts'
import { MACHINE_DISKS_MAX } from '../api/machine-disks.ts'
import { OPERATOR_NAMESPACE, POLICY_NAME } from '../api/policy.ts'
import { GROUP, VERSION } from '../api/shared.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { SECRET_COPY_RULE } from '../api/workspace-secrets.ts'
import { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import { type PolicyVariable, SOURCE_URL_VARIABLES } from './admission-policies-source-url.ts'
import { ADOPTION_POLICY } from './adoption-policy.ts'
import { labNetworks } from './lab-networks.ts'
import { labPods } from './lab-pods.ts'
import { type MatchedResources, matchConstraints } from './match-constraints.ts'
import { isChanged, sentence } from './policy-words.ts'
import { SECRET_COPY_POLICY } from './secret-copy-policy.ts'
import { IMAGE_CREATOR, IMAGE_USER } from './user-roles.ts'

/** What the API server does about a request that a rule is about: it takes it with a warning, or refuses it. As in a ValidatingAdmissionPolicyBinding. */
export const ADMISSION_ACTIONS = ['Warn', 'Deny'] as const
/** One of `ADMISSION_ACTIONS`. */
export type AdmissionAction = (typeof ADMISSION_ACTIONS)[number]

/** Rules about what works, and may be wanted. They concern what is new: objects that are stored stay, and can be changed. */
export interface AdmissionChoices {
  /** A `plain_text_passwd` that is added to a VirtualMachine or a Workspace. @default Warn */
  readonly plainTextPasswords?: AdmissionAction
  /** A Workspace that is created without `owners`, or loses them. @default Warn */
  readonly workspacesWithoutOwners?: AdmissionAction
}

/** What the admission policies are given. */
export interface AdmissionPoliciesProps extends AdmissionChoices {
  /** Namespace of the policy's ConfigMap. @default `sync-operator` */
  readonly namespace?: string
}

export interface Validation {
  readonly expression: string
  /** Used if `messageExpression` cannot be, for example because its result is too long. */
  readonly message: string
  readonly messageExpression: string
  /** @default Invalid, which means status code 422 */
  readonly reason?: 'Forbidden'
}

interface PolicySpec {
  readonly plurals: readonly string[]
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly paramKind?: object
  /** Not empty: the API server drops an empty list, so that each apply would change the policy. Default: none. */
  readonly matchConditions?: readonly [PolicyVariable, ...PolicyVariable[]]
  /** @default CREATE and UPDATE */
  readonly operations?: MatchedResources['operations']
  readonly variables?: readonly PolicyVariable[]
  readonly validations: readonly Validation[]
}

/**
 * Rules that the API server evaluates when an object of the API, or a pod, is written. They are about what the object itself does not show: who writes
 * it, and what the policy says. They need no webhook that could be down.
 *
 * They only check what a write changes: finalizers, owners, labels and later edits of other fields are not a use of an image.
 */
export class AdmissionPolicies extends Construct {
  constructor(scope: Construct, id: string, props: AdmissionPoliciesProps = {}) {
    super(scope, id)
    for (const [name, action] of Object.entries({ ...props, namespace: undefined }))
      if (action !== undefined && !ADMISSION_ACTIONS.includes(action))
        throw new Error(`admission.${name}: "${action}" must be ${ADMISSION_ACTIONS.join(' or ')}`)
    const { namespace = OPERATOR_NAMESPACE, plainTextPasswords = 'Warn', workspacesWithoutOwners = 'Warn' } = props
    this.add('open-terrain-image-use', IMAGE_USE)
    this.add('open-terrain-disk-image-use', DISK_IMAGE_USE)
    // Without a ConfigMap there is no list: the operator's defaults and the rules of the CRD apply.
    this.add('open-terrain-source-url', SOURCE_URL, { name: POLICY_NAME, namespace, parameterNotFoundAction: 'Allow' })
    this.add('open-terrain-workspace-owners', WORKSPACE_OWNERS)
    this.add('open-terrain-snapshot-place', SNAPSHOT_PLACE)
    this.addObjects(SECRET_COPY_RULE, SECRET_COPY_POLICY)
    this.addObjects(ADOPTION_RULE, ADOPTION_POLICY)
    this.addChoice('open-terrain-plain-text-passwords', PLAIN_TEXT_PASSWORDS, plainTextPasswords)
    this.addChoice('open-terrain-workspaces-without-owners', WITHOUT_OWNERS, workspacesWithoutOwners)
    this.addObjects('open-terrain-lab-pods', labPods(namespace))
    // Without a Workspace there are no such networks.
    this.addObjects('open-terrain-lab-networks', labNetworks(), { selector: {}, parameterNotFoundAction: 'Allow' })
  }

  private add(name: string, policy: PolicySpec, paramRef?: object): void {
    this.addObjects(name, specOf(policy), paramRef)
  }

  /**
   * Adds a policy that warns, and another binding that refuses, or does nothing. Not one binding with either action: who applies it as another field
   * manager than the one before would have both actions in its list, which is not valid.
   */
  private addChoice(name: string, policy: PolicySpec, action: AdmissionAction): void {
    this.addPolicy(name, specOf(policy))
    this.addBinding(name, { policyName: name, validationActions: ['Warn'] })
    // The policy is about no deletion, so this matches nothing.
    const matchResources = matchedBy(action === 'Deny' ? policy : { ...policy, operations: ['DELETE'] })
    this.addBinding(`${name}-refused`, { policyName: name, validationActions: ['Deny'], matchResources })
  }

  private addObjects(name: string, spec: object, paramRef?: object): void {
    this.addPolicy(name, spec)
    const parameter = paramRef === undefined ? {} : { paramRef }
    this.addBinding(name, { policyName: name, validationActions: ['Deny'], ...parameter })
  }

  private addPolicy(name: string, spec: object): void {
    new ApiObject(this, name, {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: labelled(name),
      spec,
    })
  }

  private addBinding(name: string, spec: object): void {
    const kind = 'ValidatingAdmissionPolicyBinding'
    new ApiObject(this, `${name}-binding`, { apiVersion: API_VERSION, kind, metadata: labelled(name), spec })
  }
}

const API_VERSION = 'admissionregistration.k8s.io/v1'

function labelled(name: string): object {
  return { name, labels: { 'app.kubernetes.io/part-of': 'open-terrain' } }
}

function specOf(policy: PolicySpec): object {
  const { plurals: _plurals, operations: _operations, ...rules } = policy
  return { ...rules, matchConstraints: matchedBy(policy) }
}

/** Without subresources: a status does not name or request an image. */
function matchedBy({ plurals, operations = ['CREATE', 'UPDATE'] }: PolicySpec): object {
  return matchConstraints({ apiGroups: [GROUP], apiVersions: [VERSION], operations, resources: plurals })
}

const FROM_ROLE = `on ${vmDiskImage.crdName} there, such as from a RoleBinding to ClusterRole `

/** CEL: whether an annotation is changed. */
function isAnnotated(annotation: string): string {
  return `object.?metadata.?annotations[?'${annotation}'] != oldObject.?metadata.?annotations[?'${annotation}']`
}

/** CEL: the request for a new disk from the image. */
const ASKS_AGAIN = isAnnotated(ANNOTATIONS.rebuildRequestedAt)
/** CEL: the request for a new root disk alone. */
const ASKS_FOR_ROOT = isAnnotated(ANNOTATIONS.resetRequestedAt)
/** CEL: the word that a new root disk may cost the present one at once. */
const GIVES_DISK_UP = isAnnotated(ANNOTATIONS.deleteDiskFirst)

/**
 * The operator reads and creates images with its own rights, for any user who can write a VirtualMachine. So the right of the user is checked when
 * the VirtualMachine is written. Images in its own namespace are not checked: anyone who may write VirtualMachines there may use everything in it.
 */
const IMAGE_USE: PolicySpec = {
  plurals: [virtualMachine.plural],
  // The only place where this is checked.
  failurePolicy: 'Fail',
  matchConditions: [
    {
      name: 'asks-for-an-image',
      expression: [
        isChanged('vmDiskImageRef', 'vmDiskImageTemplate', 'vmDiskImageMode'),
        ASKS_AGAIN,
        ASKS_FOR_ROOT,
        GIVES_DISK_UP,
      ].join(' || '),
    },
    {
      name: 'in-another-namespace',
      expression: 'object.?spec.?vmDiskImageRef.?namespace.orValue(request.namespace) != request.namespace',
    },
  ],
  variables: [
    { name: 'imageNamespace', expression: 'object.spec.vmDiskImageRef.namespace' },
    { name: 'imageName', expression: "object.spec.vmDiskImageRef.?name.orValue('')" },
    {
      name: 'images',
      expression: `authorizer.group('${GROUP}').resource('${vmDiskImage.plural}').namespace(variables.imageNamespace)`,
    },
  ],
  validations: [
    {
      expression: "variables.images.name(variables.imageName).check('use').allowed()",
      reason: 'Forbidden',
      message: 'spec.vmDiskImageRef names an image of another namespace that you may not use',
      // Only the first refusal is reported, so it lists everything that is needed.
      messageExpression: sentence(
        `user "{request.userInfo.username}" may not use VMDiskImage "{variables.imageName}" of namespace "{variables.imageNamespace}", `,
        `which spec.vmDiskImageRef names: this needs the verb {has(object.spec.vmDiskImageTemplate) ? `,
        `'"use", and "create" for spec.vmDiskImageTemplate,' : '"use"'} ${FROM_ROLE}`,
        `"{has(object.spec.vmDiskImageTemplate) ? '${IMAGE_CREATOR}' : '${IMAGE_USER}'}" in namespace "{variables.imageNamespace}"`,
      ),
    },
    {
      expression: "!has(object.spec.vmDiskImageTemplate) || variables.images.check('create').allowed()",
      reason: 'Forbidden',
      message: 'spec.vmDiskImageTemplate makes an image in another namespace, where you may not create any',
      messageExpression: sentence(
        `user "{request.userInfo.username}" may not create VMDiskImages in namespace "{variables.imageNamespace}", `,
        `where spec.vmDiskImageTemplate would make "{variables.imageName}": this needs the verb "create" ${FROM_ROLE}`,
        `"${IMAGE_CREATOR}" in namespace "{variables.imageNamespace}"; or leave the template out`,
      ),
    },
  ],
}

/** CEL: whether a disk is of an image in another namespace. */
const IS_ELSEWHERE = 'disk.?vmDiskImageRef.?namespace.orValue(request.namespace) != request.namespace'
const DISK_IMAGE = (at: number) => `variables.images[${at}]`

/**
 * The same for the images of disks beside the root disk. An image that the machine had before is not judged again. The API server gives one expression
 * no more than the cost of two such checks, so each image has its own.
 */
const DISK_IMAGE_USE: PolicySpec = {
  plurals: [virtualMachine.plural],
  failurePolicy: 'Fail',
  matchConditions: [
    { name: 'asks-for-an-image', expression: `${isChanged('disks')} || ${ASKS_AGAIN}` },
    {
      name: 'in-another-namespace',
      expression: `object.?spec.?disks.orValue([]).exists(disk, ${IS_ELSEWHERE})`,
    },
  ],
  variables: [
    {
      name: 'had',
      expression: `request.operation == 'CREATE' || ${ASKS_AGAIN} ? [] : oldObject.?spec.?disks.orValue([]).map(disk, disk.?vmDiskImageRef.orValue({}))`,
    },
    {
      name: 'images',
      expression: `object.spec.disks.filter(disk, ${IS_ELSEWHERE} && !(disk.vmDiskImageRef in variables.had)).map(disk, disk.vmDiskImageRef)`,
    },
  ],
  validations: Array.from({ length: MACHINE_DISKS_MAX }, (_none, at) => ({
    expression: `variables.images.size() <= ${at} || authorizer.group('${GROUP}').resource('${vmDiskImage.plural}').namespace(${DISK_IMAGE(at)}.namespace).name(${DISK_IMAGE(at)}.name).check('use').allowed()`,
    reason: 'Forbidden',
    message: 'spec.disks names an image of another namespace that you may not use',
    messageExpression: sentence(
      `user "{request.userInfo.username}" may not use VMDiskImage "{${DISK_IMAGE(at)}.name}" of namespace "{${DISK_IMAGE(at)}.namespace}", `,
      `which spec.disks names: this needs the verb "use" ${FROM_ROLE}"${IMAGE_USER}" in namespace "{${DISK_IMAGE(at)}.namespace}"`,
    ),
  })),
}

/** A Workspace has no namespace, so RBAC cannot give its authors their own and no other. */
const WORKSPACE_OWNERS: PolicySpec = {
  plurals: [workspace.plural],
  failurePolicy: 'Fail',
  operations: ['UPDATE', 'DELETE'],
  matchConditions: [
    { name: 'has-owners', expression: 'oldObject.?spec.?owners.orValue([]).size() > 0' },
    {
      name: 'is-changed',
      expression:
        "request.operation == 'DELETE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations",
    },
    {
      name: 'not-by-a-controller',
      expression:
        "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && request.userInfo.username != 'system:kube-controller-manager'",
    },
  ],
  variables: [
    {
      name: 'isOwner',
      expression:
        "oldObject.spec.owners.exists(owner, owner.kind == 'User' ? owner.name == request.userInfo.username : owner.name in request.userInfo.?groups.orValue([]))",
    },
  ],
  validations: [
    {
      expression: `variables.isOwner || authorizer.group('${GROUP}').resource('${workspace.plural}').name(oldObject.metadata.name).check('manage').allowed()`,
      reason: 'Forbidden',
      message: 'you are not among the owners of this Workspace',
      messageExpression: sentence(
        'user "{request.userInfo.username}" is not among spec.owners of Workspace "{oldObject.metadata.name}": ask {oldObject.spec.owners[0].kind} ',
        `"{oldObject.spec.owners[0].name}", or an administrator, who needs the verb "manage" on ${workspace.crdName}`,
      ),
    },
  ],
}

/** The operator waits for a Workspace where there is none. A person has to know at once. */
const SNAPSHOT_PLACE: PolicySpec = {
  plurals: [workspaceSnapshot.plural],
  failurePolicy: 'Ignore',
  operations: ['CREATE'],
  validations: [
    {
      expression: `namespaceObject.metadata.?labels['${LABELS.workspaceUid}'].hasValue()`,
      message: 'a WorkspaceSnapshot must be in the namespace of its Workspace',
      messageExpression: sentence(
        'namespace "{request.namespace}" is not that of a Workspace: create WorkspaceSnapshot "{object.metadata.name}" in the namespace that has the name of its Workspace',
      ),
    },
  ],
}

/** Nobody is asked to name owners: pipelines cannot be any, and a lab of a team may well be that of all authors. */
const WITHOUT_OWNERS: PolicySpec = {
  plurals: [workspace.plural],
  failurePolicy: 'Ignore',
  matchConditions: [
    { name: 'has-no-owners', expression: 'object.?spec.?owners.orValue([]).size() == 0' },
    {
      name: 'had-owners',
      expression: "request.operation == 'CREATE' || oldObject.?spec.?owners.orValue([]).size() > 0",
    },
  ],
  validations: [
    {
      expression: 'false',
      message: 'a Workspace without spec.owners is that of everybody who may write Workspaces',
      messageExpression: sentence(
        'everybody who may write Workspaces can change and delete Workspace "{object.metadata.name}": name those who work in it in spec.owners',
      ),
    },
  ],
}

const VMS = '.?spec.?vms.orValue([])'
/** CEL: the users of a list who have a password that everybody reads who may read the object, and that none of these objects had for them. */
const openUsers = (users: string, before: string) =>
  `${users}.orValue([]).filter(user, has(user.plain_text_passwd) && !${before}.exists(was, was.?users.orValue([]).exists(old, old.name == user.name && old.?plain_text_passwd == user.?plain_text_passwd)))`
/** CEL: what there was before the request, in a list. Empty for a new object. */
const before = (list: string) => `(request.operation == 'CREATE' ? [] : ${list})`

/** A lab for a class may well have a password that is no secret, so by default this warns. A password that the object has already may stay, also where new ones are refused. */
const PLAIN_TEXT_PASSWORDS: PolicySpec = {
  plurals: [virtualMachine.plural, workspace.plural],
  failurePolicy: 'Ignore',
  matchConditions: [
    { name: 'changes-users', expression: isChanged('users', 'vms') },
    // The operator copies the users of a Workspace to its machines.
    { name: 'is-written-by-people', expression: 'object.metadata.?ownerReferences.orValue([]).size() == 0' },
  ],
  variables: [
    {
      name: 'ofMachine',
      expression: `${openUsers('object.?spec.?users', before('[oldObject.?spec.orValue({})]'))}`,
    },
    {
      name: 'ofVms',
      expression: [
        `object${VMS}.map(vm, {'vm': [vm], 'before': ${before(`oldObject${VMS}.filter(was, was.name == vm.name)`)}})`,
        `.map(one, {'vm': one.vm, 'users': ${openUsers('one.vm[0].?users', 'one.before')}})`,
        '.filter(one, one.users.size() > 0)',
      ].join(''),
    },
    {
      name: 'open',
      expression: [
        `variables.ofMachine.map(user, 'user "' + string(user.name) + '"')`,
        // CEL has no flat map: one user of each machine is named.
        `variables.ofVms.map(one, 'user "' + string(one.users[0].name) + '" of vm "' + string(one.vm[0].name) + '"')`,
      ].join(' + '),
    },
  ],
  validations: [
    {
      expression: 'variables.open.size() == 0',
      message: 'everybody who may read this object can read each plain_text_passwd in it: use passwordSecretRef',
      messageExpression: sentence(
        'everybody who may read this object can read the plain_text_passwd of {variables.open[0]}{variables.open.size() > 1 ? ',
        `' and of ' + string(variables.open.size() - 1) + ' more' : ''}: use passwordSecretRef where that matters`,
      ),
    },
  ],
}

/** The URL at this path of each vm. A URL that any vm of the old object has is not new. */
const urlsOfVms = (path: string) => {
  const [field, url] = [path.replaceAll('.?', '.'), `vm.?${path}`]
  const isKnown = `oldObject${VMS}.exists(old, old.?${path} == ${url})`
  return (
    `object${VMS}.filter(vm, ${url}.hasValue() && (request.operation == 'CREATE' || !${isKnown}))` +
    `.map(vm, {'field': 'spec.vms: ${field} of vm "' + string(vm.name) + '"', 'text': string(vm.${field})})`
  )
}

const TEMPLATE_URL = 'vmDiskImageTemplate.?url'

/** The URLs of a VMDiskImage, of the template of a VirtualMachine, and of the vms of a DataSync or a Workspace. */
const URLS = [
  ...['url', TEMPLATE_URL].map((path) => {
    const url = `object.?spec.?${path}`
    const field = `spec.${path.replace('.?', '.')}`
    return `(${url}.hasValue() ? [{'field': '${field}', 'text': string(${url}.value())}] : [])`
  }),
  urlsOfVms('url'),
  urlsOfVms(TEMPLATE_URL),
].join(' +\n')

/** Maximum number of prefixes that a refusal lists. If there are more, it only gives their number. */
const SHOWN_MAX = 10
const LIST = 'key allowedSourceUrls of ConfigMap {params.metadata.namespace}/{params.metadata.name}'

/**
 * The early refusal of a URL that the operator would not fetch from. The operator checks before each download again, against the list at that time.
 * So this rule may accept what it cannot judge.
 */
const SOURCE_URL: PolicySpec = {
  plurals: [vmDiskImage.plural, virtualMachine.plural, dataSync.plural, workspace.plural],
  failurePolicy: 'Ignore',
  paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
  matchConditions: [{ name: 'has-a-new-url', expression: isChanged('url', TEMPLATE_URL, 'vms') }],
  variables: [{ name: 'urls', expression: URLS }, ...SOURCE_URL_VARIABLES],
  validations: [
    {
      expression: 'variables.notPlain.size() == 0',
      message: 'the URL of the image must name a host, or a plain address that is not loopback, link-local or metadata',
      messageExpression: sentence(
        '{variables.notPlain[0].field} must be <scheme>://<host>[:<port>]/<path> with a host name, or a plain address that is not loopback, ',
        'link-local or metadata, and without a user',
      ),
    },
    {
      expression: 'variables.entries.size() > 0 || variables.refused.size() == 0',
      message: 'the URL of the image names a private address',
      messageExpression: sentence(
        `{variables.refused[0].field} names a private address: use a host name or a public address, or have the source listed in ${LIST}`,
      ),
    },
    {
      expression: 'variables.entries.size() == 0 || variables.refused.size() == 0',
      message: 'the URL of the image is not on the list of allowed sources',
      messageExpression: sentence(
        `{variables.refused[0].field} is not on the list of allowed sources, ${LIST}: {variables.entries.size() <= ${SHOWN_MAX} ? variables.entries.join(', ') : string(variables.entries.size()) + ' prefixes'}`,
      ),
    },
  ],
}
