import { RESOURCES, type Resource, render } from '@open-terrain/constructs'
import { Crd } from '@open-terrain/constructs/platform'
import { Document, isCollection, isPair, visit } from 'yaml'
import { apiReference } from './api-reference.ts'

/** Characters of JSON. */
const SHORT = 140

const SOURCE = 'from constructs/ by `npm run gen`; do not edit'

/** Returns what belongs in the folder of generated files: path in it -> content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const crds = RESOURCES.map((resource): [string, string] => [
    `crds/${resource.group}_${resource.plural}.yaml`,
    `# Generated ${SOURCE}.\n${toYaml(renderCrd(resource))}`,
  ])
  return new Map([...crds, ['api.md', `<!-- Generated ${SOURCE}. -->\n${apiReference(RESOURCES)}`]])
}

export function renderCrd(resource: Resource): object {
  const [crd] = render((chart) => new Crd(chart, 'Crd', resource))
  return crd as object
}

/** What is short and holds nothing but values is on one line. Other lines are not folded, so that a rule or a URL can be searched for. */
export function toYaml(object: object): string {
  const document = new Document(object)
  visit(document, {
    Collection: (_key, collection) => {
      const values = collection.items.map((item) => (isPair(item) ? item.value : item))
      const isPlain = values.length > 0 && !values.some(isCollection)
      if (isPlain && JSON.stringify(collection).length <= SHORT) collection.flow = true
    },
  })
  return document.toString({ lineWidth: 0, indentSeq: false })
}
