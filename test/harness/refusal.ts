import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import type { World } from './world.ts'

const POLICY = admission('ValidatingAdmissionPolicy', 'validatingadmissionpolicies')
const BINDING = admission('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings')

interface Refusal {
  readonly name: string
  readonly namespace: string
  readonly rule: {
    readonly apiGroups: readonly string[]
    readonly apiVersions: readonly string[]
    readonly operations: readonly string[]
    readonly resources: readonly string[]
  }
  /** In CEL: what is allowed all the same. */
  readonly unless: string
  readonly message: string
}

/** Forbids requests in a namespace, a moment after this has resolved. Resolves with a function that ends it. */
export async function refuse(client: HttpKubeClient, refusal: Refusal): Promise<() => Promise<void>> {
  const { name, namespace, rule, unless: expression, message } = refusal
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const matchConstraints = { namespaceSelector, resourceRules: [rule] }
  const of = (type: ResourceType) => ({ apiVersion: apiVersionOf(type), kind: type.kind, metadata: { name } })
  const policy = { ...of(POLICY), spec: { matchConstraints, validations: [{ expression, message }] } }
  await client.create(POLICY, policy)
  const binding = { ...of(BINDING), spec: { policyName: name, validationActions: ['Deny'] } }
  await client.create(BINDING, binding)
  return async () => {
    for (const type of [BINDING, POLICY]) await client.delete(type, { name })
  }
}

function admission(kind: string, plural: string): ResourceType {
  return { group: 'admissionregistration.k8s.io', version: 'v1', kind, plural, namespaced: false }
}

export interface RefusedCreation {
  readonly namespace: string
  readonly group: string
  readonly version: string
  /** In the plural. */
  readonly resource: string
  /** The message of the refusal. */
  readonly message: string
  /** A valid object of the kind. */
  readonly probe: object
}

/** Forbids the creation of objects of a kind in a namespace. Resolves when that is in force, with a function that ends it. */
export async function refuseCreation(
  { client, cluster }: World,
  refused: RefusedCreation,
): Promise<() => Promise<void>> {
  const { controlPlane } = cluster
  const { namespace, group, version, resource, message, probe } = refused
  const rule = { apiGroups: [group], apiVersions: [version], operations: ['CREATE'], resources: [resource] }
  const stop = await refuse(client, { name: `no-${namespace}`, namespace, rule, unless: 'false', message })
  const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/namespaces/${namespace}/${resource}?dryRun=All`
  for (;;) {
    const { status, text } = await controlPlane.request('POST', path, probe)
    if (text.includes(message)) break
    if (status !== 201) throw new Error(`the probe is refused for another reason: ${text}`)
  }
  return stop
}
