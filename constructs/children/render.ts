import { ApiObject, App, Chart } from 'cdk8s'

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
 */
export function render(build: (chart: Chart) => void): object[] {
  return renderIn(new RenderChart(new App(), 'render'), build)
}

export function renderIn(chart: Chart, build: (chart: Chart) => void): object[] {
  build(chart)
  return chart.node
    .findAll()
    .filter((node) => ApiObject.isApiObject(node))
    .map((node) => (node as ApiObject).toJson() as object)
}
