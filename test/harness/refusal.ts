import type { World } from './world.ts'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

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
export async function refuseCreation({ cluster }: World, refused: RefusedCreation): Promise<() => Promise<void>> {
  const { controlPlane } = cluster
  const { namespace, group, version, resource, message, probe } = refused
  const name = `no-${namespace}`
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const resourceRules = [{ apiGroups: [group], apiVersions: [version], operations: ['CREATE'], resources: [resource] }]
  const objects = {
    validatingadmissionpolicies: {
      metadata: { name },
      spec: {
        matchConstraints: { namespaceSelector, resourceRules },
        validations: [{ expression: 'false', message }],
      },
    },
    validatingadmissionpolicybindings: {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  }
  for (const [plural, object] of Object.entries(objects)) {
    const { status, text } = await controlPlane.request('POST', `${ADMISSION}/${plural}`, object)
    if (status !== 201) throw new Error(`${plural}: ${text}`)
  }
  const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/namespaces/${namespace}/${resource}?dryRun=All`
  for (;;) {
    const { status, text } = await controlPlane.request('POST', path, probe)
    if (text.includes(message)) break
    if (status !== 201) throw new Error(`the probe is refused for another reason: ${text}`)
  }
  return async () => {
    for (const plural of Object.keys(objects)) await controlPlane.request('DELETE', `${ADMISSION}/${plural}/${name}`)
  }
}
