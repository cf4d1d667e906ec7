import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { POLICY_NAME } from '../api/policy.ts'
import { RESOURCES } from '../api/resources.ts'
import { type MatchedResources, matchConstraints } from './match-constraints.ts'
import { OPERATOR_NAME, PART_OF } from './operator-names.ts'
import { RETAINED } from './retained.ts'

/** On what is guarded: who installed it, such as `<project>/<stack>` of Pulumi. */
const INSTALLED_BY = 'pelotech.ot/installed-by'
/** On what is guarded: who may take it over from another owner. */
const ADOPTED_BY = 'pelotech.ot/adopted-by'

/** Who applies an installation. */
export interface InstallationOwner {
  /** Name of the one who applies the installation, such as `<project>/<stack>`. Two owners have two names. See {@link manifestsOwner}. */
  readonly name: string
  /** Whether it takes the installation over from another owner. @default false */
  readonly adopt?: boolean
}

const OF_MANIFESTS = 'manifests/'
/** What is released, which people apply who have no repository. */
const OF_RELEASE = 'manifests/release'

/** Returns the name of the owner whose manifests of an environment are applied by kubectl, or from Git. */
export function manifestsOwner(environment: string): string {
  return `${OF_MANIFESTS}${environment}`
}

/** Of each kind, what two owners would take from each other: the CRDs, which are applied first, the policy, and the operator. */
const GUARDED: readonly (MatchedResources & { readonly kind: string })[] = [
  {
    kind: 'CustomResourceDefinition',
    apiGroups: ['apiextensions.k8s.io'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: ['customresourcedefinitions'],
    resourceNames: RESOURCES.map(({ crdName }) => crdName),
  },
  {
    kind: 'ConfigMap',
    apiGroups: [''],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: ['configmaps'],
    resourceNames: [POLICY_NAME],
  },
  {
    kind: 'Deployment',
    apiGroups: ['apps'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: ['deployments'],
    resourceNames: [OPERATOR_NAME],
  },
]

/** Marks what is guarded below a construct as the owner's. */
export function markOwner(scope: Construct, { name, adopt = false }: InstallationOwner): void {
  for (const object of scope.node.findAll()) {
    if (!ApiObject.isApiObject(object)) continue
    const isGuarded = GUARDED.some(
      ({ kind, resourceNames = [] }) => kind === object.kind && resourceNames.includes(object.name),
    )
    if (!isGuarded) continue
    object.metadata.addAnnotation(INSTALLED_BY, name)
    if (adopt) object.metadata.addAnnotation(ADOPTED_BY, name)
  }
}

const NAME = 'open-terrain-keep-owner'

/**
 * Makes the API server refuse that a second owner applies an installation. It would take over the policy and the operator of the first, and delete them
 * when it is removed. The CRDs alone would not do: `kubectl apply` of a folder goes on with its other files after a refusal. What has no owner, such as
 * an installation of an earlier release, gets its first one.
 */
export class OwnerGuard extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    const apiVersion = 'admissionregistration.k8s.io/v1'
    const metadata = { name: NAME, labels: PART_OF, annotations: RETAINED }
    new ApiObject(this, 'Policy', { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec: policySpec() })
    new ApiObject(this, 'Binding', {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: NAME, validationActions: ['Deny'] },
    })
  }
}

/**
 * CEL: keys of the policy that a write takes away. The policy of a release has no key: applied after another file, also after the one that somebody has
 * saved from the cluster and edited, it would remove all of their keys, and nothing would say so. Whoever applies a policy of their own may take the mark of the
 * owner away with it, by kubectl in both ways.
 */
const KEYS_LOST = 'dyn(oldObject).?data.orValue({}).map(key, key).filter(key, !(key in dyn(object).?data.orValue({})))'

/** Field managers of those who take away what they mean to: people, and Helm, which removes what its values had before. */
const DELIBERATE = ['kubectl-edit', 'kubectl-patch', 'kubectl-replace', 'helm', 'helm-controller']

/** CEL: whether a write is one of a release that takes keys away unasked. After an earlier one of its own it is known by having none. */
const MAY_LOSE = [
  "request.resource.resource == 'configmaps'",
  `variables.after == '${OF_RELEASE}'`,
  `(variables.before != '${OF_RELEASE}' || dyn(object).?data.orValue({}).size() == 0 && !(request.options.?fieldManager.orValue('') in ${JSON.stringify(DELIBERATE)}))`,
].join(' && ')

function policySpec(): object {
  const annotation = (of: string, name: string) => `${of}.metadata.?annotations['${name}'].orValue('')`
  const isOfManifests = (owner: string) => `variables.${owner}.startsWith('${OF_MANIFESTS}')`
  return {
    failurePolicy: 'Fail',
    matchConstraints: matchConstraints(GUARDED.map(({ kind: _kind, ...rule }) => rule)),
    variables: [
      { name: 'before', expression: annotation('oldObject', INSTALLED_BY) },
      { name: 'after', expression: annotation('object', INSTALLED_BY) },
      // Also who was annotated before: kubectl takes the annotation away that a file of the earlier owner had, and this one has not.
      {
        name: 'adopters',
        expression: `[${annotation('object', ADOPTED_BY)}, ${annotation('oldObject', ADOPTED_BY)}]`,
      },
      {
        name: 'end',
        expression: `${isOfManifests('before')} ? 'have nobody apply those manifests any more' : 'remove the other stack without what it made (pulumi stack rm --force)'`,
      },
      {
        name: 'adopt',
        expression: `variables.after == '${OF_RELEASE}' ? 'kubectl annotate ' + request.resource.resource + ' ' + request.name + (request.?namespace.orValue('') == '' ? '' : ' -n ' + request.namespace) + ' --overwrite ${ADOPTED_BY}=${OF_RELEASE}' : ${isOfManifests('after')} ? 'npm run synth -- ' + variables.after.substring(${OF_MANIFESTS.length}) + ' --adopt' : 'pulumi config set open-terrain:adopt true'`,
      },
      {
        name: 'lost',
        expression: `${MAY_LOSE} ? ${KEYS_LOST} : []`,
      },
    ],
    validations: [
      {
        expression:
          "variables.before == '' || variables.after in ['', variables.before] || variables.after in variables.adopters",
        reason: 'Forbidden',
        message: 'somebody else has installed Open Terrain in this cluster',
        messageExpression:
          "'Open Terrain in this cluster belongs to ' + variables.before + ', and two owners would undo what the other one does; if ' + variables.after + ' is to take it over: ' + variables.end + ', then ' + variables.adopt",
      },
      {
        expression: 'variables.lost.size() == 0',
        reason: 'Forbidden',
        message: 'this would remove keys of the policy, which somebody has applied from another file',
        messageExpression: `'this would remove ' + variables.lost.join(', ') + ' from the policy, which somebody has applied from another file; to keep what is there: kubectl -n ' + request.namespace + ' annotate configmap ' + request.name + ' kubectl.kubernetes.io/last-applied-configuration-, or, where that file is applied with --server-side, apply these keys alone with a --field-manager of your own; to remove them: kubectl edit; then apply again'`,
      },
    ],
  }
}
