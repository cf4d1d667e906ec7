import { ApiObject, type ApiObjectProps, App } from 'cdk8s'
import type { Construct } from 'constructs'
import { RenderChart, renderIn } from './render.ts'

/** A chart in which the operator renders. Nobody gives it labels, or changes what is in it. */
class ChildChart extends RenderChart {
  readonly isOfOperator = true
}

/**
 * A child of the operator. The operator writes it exactly as it is made: cdk8s sorts keys, and a mark on what the operator has written is a hash of its text.
 * Besides, nothing is copied, as children are rendered in every reconcile. In a chart of an author it is like any other object, with labels, patches and all.
 */
export class RenderedObject<Manifest extends object> extends ApiObject {
  readonly #manifest: Manifest

  constructor(scope: Construct, id: string, manifest: Manifest) {
    super(scope, id, manifest as unknown as ApiObjectProps)
    this.#manifest = manifest
  }

  override toJson(): Manifest {
    return 'isOfOperator' in this.chart ? this.#manifest : super.toJson()
  }
}

/** Renders children as the operator writes them. */
export function renderChildren<Manifest>(build: (chart: Construct) => void): Manifest[] {
  return renderIn(new ChildChart(new App(), 'render'), build) as Manifest[]
}

/** Renders one such child. */
export function renderOne<Manifest>(build: (chart: Construct) => void): Manifest {
  const [manifest] = renderChildren<Manifest>(build)
  return manifest as Manifest
}
