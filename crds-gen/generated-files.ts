import { type Resource, render } from '@open-terrain/constructs'
import { RESOURCES } from '@open-terrain/constructs/operator'
import { Crd, manifestYaml } from '@open-terrain/constructs/platform'
import { apiReference } from './api-reference.ts'

const SOURCE = 'from constructs/ by `npm run gen`; do not edit'

/** Returns what belongs in the folder of generated files: path in it -> content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const crds = RESOURCES.map((resource): [string, string] => [
    `crds/${resource.group}_${resource.plural}.yaml`,
    `# Generated ${SOURCE}.\n${manifestYaml(renderCrd(resource))}`,
  ])
  return new Map([...crds, ['api.md', `<!-- Generated ${SOURCE}. -->\n${apiReference(RESOURCES)}`]])
}

export function renderCrd(resource: Resource): object {
  const [crd] = render((chart) => new Crd(chart, 'Crd', resource))
  return crd as object
}
