import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { GROUP } from '../api/shared.ts'
import { matchConstraints } from './match-constraints.ts'
import { PART_OF } from './operator-names.ts'
import { RETAIN_ANNOTATION, RETAINED } from './retained.ts'

/** On one of our CRDs, or on a retained namespace: `true` allows its deletion, with everything that it holds. */
export const ALLOW_DELETION_ANNOTATION = 'pelotech.ot/allow-deletion'

interface Guarded {
  readonly apiGroup: string
  readonly plural: string
  /** CEL: which of these objects are guarded. */
  readonly condition: string
  /** What is deleted with the object, as part of a sentence. */
  readonly loss: string
}

const GUARDED = {
  crds: {
    apiGroup: 'apiextensions.k8s.io',
    plural: 'customresourcedefinitions',
    condition: `oldObject.spec.group == '${GROUP}'`,
    loss: 'all objects of its kind, and with them their disks and guests',
  },
  namespaces: {
    apiGroup: '',
    plural: 'namespaces',
    condition: `oldObject.metadata.?annotations['${RETAIN_ANNOTATION}'].orValue('') == 'true'`,
    loss: 'all images in it, and with them their disks',
  },
} as const satisfies Record<string, Guarded>

/** What is guarded. */
export interface DeletionGuardProps {
  /** The CustomResourceDefinitions of the API, or the namespaces that are retained. */
  readonly guards: 'crds' | 'namespaces'
}

/**
 * Makes the API server refuse to delete objects that hold people's data, until an annotation on the object itself allows it. It is applied together
 * with what it guards, and after it: deleting a whole manifest, by mistake or to remove the operator, is refused for each of these objects.
 *
 * An admission policy cannot guard itself: when the same manifest is deleted a second time, the guard is gone.
 */
export class DeletionGuard extends Construct {
  constructor(scope: Construct, id: string, { guards }: DeletionGuardProps) {
    super(scope, id)
    const apiVersion = 'admissionregistration.k8s.io/v1'
    const name = `open-terrain-keep-${guards}`
    const metadata = { name, labels: PART_OF, annotations: RETAINED }
    new ApiObject(this, 'Policy', {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: policySpec(GUARDED[guards]),
    })
    new ApiObject(this, 'Binding', {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: name, validationActions: ['Deny'] },
    })
  }
}

function policySpec({ apiGroup, plural, condition, loss }: Guarded): object {
  const annotate = `kubectl annotate ${plural}`
  return {
    failurePolicy: 'Fail',
    matchConstraints: matchConstraints({
      apiGroups: [apiGroup],
      apiVersions: ['*'],
      operations: ['DELETE'],
      resources: [plural],
    }),
    matchConditions: [{ name: 'is-kept', expression: condition }],
    validations: [
      {
        expression: `oldObject.metadata.?annotations['${ALLOW_DELETION_ANNOTATION}'].orValue('') == 'true'`,
        reason: 'Forbidden',
        message: `this would delete ${loss}: the annotation ${ALLOW_DELETION_ANNOTATION} "true" on it allows that`,
        messageExpression: `'deleting ' + oldObject.metadata.name + ' deletes ${loss}; if that is meant: ${annotate} ' + oldObject.metadata.name + ' ${ALLOW_DELETION_ANNOTATION}=true'`,
      },
    ],
  }
}
