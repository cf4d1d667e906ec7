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

/**
 * Builds constructs and returns their objects as plain JSON, in the order in which they were added. Every call has its own App: rendering a chart
 * visits its whole App, and ids must be unique in it.
 * @throws Error with all problems of the constructs
 */
export function render(build: (chart: Chart) => void): object[] {
  const app = new App()
  const objects = renderIn(new RenderChart(app, 'render'), build)
  // An app that is synthesized asks constructs of teams, too.
  const problems = teamProblems(app)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return objects
}

export function renderIn(chart: Chart, build: (chart: Chart) => void): object[] {
  build(chart)
  return chart.node
    .findAll()
    .filter((node) => ApiObject.isApiObject(node))
    .map((node) => (node as ApiObject).toJson() as object)
}
