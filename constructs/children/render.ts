import { ApiObject, App, Chart } from 'cdk8s'
import { teamProblems } from '../authoring/node-problems.ts'

/**
 * A chart that never generates names: a name derived from the path of a construct changes when a scope is renamed, which would replace a live disk.
 */
export class RenderChart extends Chart {
  override generateObjectName(apiObject: ApiObject): string {
    throw new Error(`${apiObject.node.path}: set metadata.name, names of rendered objects are never generated`)
  }
}

type Build = (chart: Chart) => void

/**
 * Builds constructs and returns their objects as plain JSON, in the order in which they were added. Every call has its own App: rendering a chart
 * visits its whole App, and ids must be unique in it.
 * @throws Error with all problems of the constructs
 */
export function render(build: (chart: Chart) => void): object[]
/**
 * Builds the charts of a program, and returns the objects of each under its name: `const { images, lab } = render({ images: (chart) => …, lab: (chart) => … })`.
 * They are one App: the error has the problems of all charts, and the images that a lab names may be in any of them.
 * @throws Error with all problems of all charts
 */
export function render<Name extends string>(
  builds: Readonly<Record<Name, (chart: Chart) => void>>,
): Record<Name, object[]>
export function render(given: Build | Readonly<Record<string, Build>>): object[] | Record<string, object[]> {
  const app = new App()
  if (typeof given === 'function') return renderedIn(app, { render: given })['render'] as object[]
  return renderedIn(app, given)
}

function renderedIn(app: App, builds: Readonly<Record<string, Build>>): Record<string, object[]> {
  const charts = Object.entries(builds).map(([name, build]) => {
    const chart = new RenderChart(app, name)
    build(chart)
    return [name, chart] as const
  })
  const objects = charts.map(([name, chart]) => [name, objectsIn(chart)] as const)
  // An app that is synthesized asks constructs of teams, too.
  const problems = teamProblems(app)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return Object.fromEntries(objects)
}

export function renderIn(chart: Chart, build: Build): object[] {
  build(chart)
  return objectsIn(chart)
}

function objectsIn(chart: Chart): object[] {
  return chart.node
    .findAll()
    .filter((node) => ApiObject.isApiObject(node))
    .map((node) => (node as ApiObject).toJson() as object)
}
