import type { World } from './world.ts'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

export interface RefusedCreation {
  readonly namespace: string
  readonly group: string
  readonly version: string
  /** In the plural. */
  readonly resource: string
  /** What the API server answers. */
  readonly message: string
  /** An object of the kind that it would take. */
  readonly probe: object
}

/** Nobody may create objects of a kind in a namespace any more. Resolves when that counts, with how to end it. */
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
  for (let status = 201; status === 201; ) status = (await controlPlane.request('POST', path, probe)).status
  return async () => {
    for (const plural of Object.keys(objects)) await controlPlane.request('DELETE', `${ADMISSION}/${plural}/${name}`)
  }
}
