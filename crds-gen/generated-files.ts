import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseWorkspaceSpec, type Resource, render } from '@open-terrain/constructs'
import { RESOURCES } from '@open-terrain/constructs/operator'
import { Crd, manifestYaml } from '@open-terrain/constructs/platform'
import { parse } from 'yaml'
import { pictureOf } from '../cli/picture/lab-picture.ts'
import { svgOf } from '../cli/picture/svg-picture.ts'
import { apiReference } from './api-reference.ts'
import { authoringReference } from './authoring-reference.ts'

const SOURCE = 'from constructs/ by `npm run gen`; do not edit'
/** The lab that docs/labs.md shows. */
const PICTURED = 'training-sandbox'

/** Returns what belongs in the folder of generated files: path in it -> content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const crds = RESOURCES.map((resource): [string, string] => [
    `crds/${resource.group}_${resource.plural}.yaml`,
    `# Generated ${SOURCE}.\n${manifestYaml(renderCrd(resource))}`,
  ])
  return new Map([
    ...crds,
    ['api.md', `<!-- Generated ${SOURCE}. -->\n${apiReference(RESOURCES)}`],
    ['authoring.md', `<!-- Generated ${SOURCE}. -->\n${authoringReference()}`],
    [`${PICTURED}.svg`, picturedLab()],
  ])
}

/** Returns what `ot draw` prints of an example. */
function picturedLab(): string {
  const path = join(import.meta.dirname, `../examples/labs/${PICTURED}.yaml`)
  const parsed = parseWorkspaceSpec(parse(readFileSync(path, 'utf8')).spec)
  if (!parsed.ok) throw new Error(`${path}: ${JSON.stringify(parsed.problems)}`)
  return svgOf(pictureOf(PICTURED, parsed.spec))
}

export function renderCrd(resource: Resource): object {
  const [crd] = render((chart) => new Crd(chart, 'Crd', resource))
  return crd as object
}
