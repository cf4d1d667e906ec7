/** A panel, as it is in the JSON of the dashboard. */
export interface Panel {
  readonly title: string
  readonly description: string
  readonly type: 'stat' | 'timeseries' | 'table'
  readonly unit: string
  readonly isStacked: boolean
  readonly row: string
  readonly links: readonly string[]
  /** With values for the variables. */
  readonly queries: readonly { readonly expr: string; readonly legend: string }[]
}

interface PanelJson {
  readonly title: string
  readonly description: string
  readonly type: Panel['type'] | 'row'
  readonly links?: readonly { readonly url: string }[]
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string; readonly custom?: { readonly stacking?: { readonly mode: string } } }
  }
}

/** As Grafana has them for an installation with the defaults. */
const VARIABLES = { $namespace: 'sync-operator', $class: '.*', $__rate_interval: '4m' }

/** Returns all panels but rows, with the row that they are in. */
export function panelsOf(dashboard: Readonly<Record<string, unknown>>): readonly Panel[] {
  let row = ''
  return (dashboard['panels'] as readonly PanelJson[]).flatMap((panel) => {
    const { title, description, type, targets = [], fieldConfig, links = [] } = panel
    if (type === 'row') {
      row = title
      return []
    }
    const { unit = '', custom } = fieldConfig?.defaults ?? {}
    return {
      title,
      description,
      type,
      unit,
      isStacked: custom?.stacking?.mode === 'normal',
      row,
      links: links.map(({ url }) => url),
      queries: targets.map(({ expr, legendFormat: legend }) => ({ expr: withVariables(expr), legend })),
    }
  })
}

function withVariables(expr: string): string {
  return Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), expr)
}
