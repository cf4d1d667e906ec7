import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { GROUP } from '../api/shared.ts'
import { matchConstraints } from './match-constraints.ts'
import { PART_OF } from './operator-names.ts'
import { RETAINED } from './retained.ts'

/** On our CRDs: who installed them, such as `<project>/<stack>` of Pulumi. */
const INSTALLED_BY = 'pelotech.ot/installed-by'
/** On our CRDs: who may take them over from another owner. */
const ADOPTED_BY = 'pelotech.ot/adopted-by'

export interface InstallationOwner {
  /** Name of the one who applies the installation, such as `<project>/<stack>`. Two owners have two names. */
  readonly name: string
  /** Whether it takes the installation over from another owner. @default false */
  readonly adopt?: boolean
}

/** Returns the annotations of the CRDs of an owner. */
export function ownerAnnotations({ name, adopt = false }: InstallationOwner): Record<string, string> {
  return { [INSTALLED_BY]: name, ...(adopt ? { [ADOPTED_BY]: name } : {}) }
}

const NAME = 'open-terrain-keep-owner'

/**
 * Makes the API server refuse to let a second owner apply our CRDs, which are the first objects of an installation. A second owner would take over the
 * policy and the operator of the first, and delete them when it is removed. What has no owner, such as an installation by kubectl, gets its first one.
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

function policySpec(): object {
  const annotation = (of: string, name: string) => `${of}.metadata.?annotations['${name}'].orValue('')`
  return {
    failurePolicy: 'Fail',
    matchConstraints: matchConstraints({
      apiGroups: ['apiextensions.k8s.io'],
      apiVersions: ['*'],
      operations: ['UPDATE'],
      resources: ['customresourcedefinitions'],
    }),
    matchConditions: [{ name: 'is-ours', expression: `oldObject.spec.group == '${GROUP}'` }],
    variables: [
      { name: 'before', expression: annotation('oldObject', INSTALLED_BY) },
      { name: 'after', expression: annotation('object', INSTALLED_BY) },
      { name: 'adopter', expression: annotation('object', ADOPTED_BY) },
    ],
    validations: [
      {
        expression:
          "variables.before == '' || variables.after in ['', variables.before] || variables.adopter == variables.after",
        reason: 'Forbidden',
        message: 'another stack has installed Open Terrain in this cluster',
        messageExpression:
          "'Open Terrain in this cluster belongs to ' + variables.before + ', and two owners would undo what the other one does; if ' + variables.after + ' is to take it over: remove the other stack without what it made (pulumi stack rm --force), then pulumi config set open-terrain:adopt true'",
      },
    ],
  }
}
