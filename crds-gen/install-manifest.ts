import { render } from '@open-terrain/constructs'
import { AdmissionPolicies, Crd, Operator, SyncOperatorPolicy, UserRoles } from '@open-terrain/constructs/platform'
import { RESOURCES, toYaml } from './generated-files.ts'

/**
 * Everything that a cluster needs besides CDI and a snapshot controller, as one YAML stream in the order in which it can be applied.
 * @param image container image of the operator
 */
export function installManifest(image: string): string {
  const objects = render((chart) => {
    for (const resource of RESOURCES) new Crd(chart, resource.crdName, resource)
    new Operator(chart, 'Operator', { image })
    new SyncOperatorPolicy(chart, 'Policy', { concurrency: 4, retryLimit: 2, retryBackoffDuration: '5m' })
    new UserRoles(chart, 'UserRoles')
    new AdmissionPolicies(chart, 'AdmissionPolicies')
  })
  return objects.map(toYaml).join('---\n')
}
