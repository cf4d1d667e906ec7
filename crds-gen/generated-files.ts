import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardJson, manifestYaml } from '@open-terrain/constructs/infra'
import { parseWorkspaceSpec, RESOURCES } from '@open-terrain/constructs/operator'
import { type Manifest, renderCrds, renderMonitoring } from '@open-terrain/constructs/platform'
import { parse, stringify } from 'yaml'
import { pictureOf } from '../cli/picture/lab-picture.ts'
import { svgOf } from '../cli/picture/svg-picture.ts'
import { apiReference } from './api-reference.ts'
import { metricsReference } from './metrics-reference.ts'
import { policyKeys } from './policy-keys.ts'
import { specProps } from './spec-props.ts'

const SOURCE = 'from constructs/ by `npm run gen`; do not edit'
/** The lab that docs/labs.md shows. */
const PICTURED = 'training-sandbox'

/** Returns what belongs in the folder of generated files: path in it -> content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const crds = renderCrds().map((crd): [string, string] => [
    `crds/${fileName(crd)}`,
    `# Generated ${SOURCE}.\n${manifestYaml(crd)}`,
  ])
  return new Map([
    ...crds,
    ['api.md', `<!-- Generated ${SOURCE}. -->\n${apiReference(RESOURCES)}`],
    ['metrics.md', `<!-- Generated from operator/ by \`npm run gen\`; do not edit. -->\n${metricsReference()}`],
    ['grafana-dashboard.json', `${JSON.stringify(dashboardJson(), null, 1)}\n`],
    ['prometheus-rules.yaml', `# Generated ${SOURCE}.\n${prometheusRules()}`],
    [`${PICTURED}.svg`, picturedLab()],
  ])
}

/** The rules for a Prometheus without the Prometheus operator. */
function prometheusRules(): string {
  const [rule] = renderMonitoring().filter(({ kind }) => kind === 'PrometheusRule')
  return stringify(rule?.['spec'], { lineWidth: 0 })
}

/** Returns what `ot draw` prints of an example. */
function picturedLab(): string {
  const path = join(import.meta.dirname, `../examples/labs/${PICTURED}.yaml`)
  const parsed = parseWorkspaceSpec(parse(readFileSync(path, 'utf8')).spec)
  if (!parsed.ok) throw new Error(`${path}: ${JSON.stringify(parsed.problems)}`)
  return svgOf(pictureOf(PICTURED, parsed.spec))
}

/** Returns the sources of constructs/ that are generated: path in the repository -> content. */
export function generatedSources(): ReadonlyMap<string, string> {
  return new Map([
    ['constructs/api/policy-keys.ts', policyKeys()],
    ['constructs/authoring/spec-props.ts', specProps()],
  ])
}

/** <group>_<plural>.yaml, as controller-gen names them. */
function fileName({ metadata: { name } }: Manifest): string {
  const [plural = '', ...group] = name.split('.')
  return `${group.join('.')}_${plural}.yaml`
}
