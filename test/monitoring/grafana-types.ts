/** The published types of Grafana, with what they leave open filled in for the panels that we have. */
import type * as dashboard from '@grafana/grafana-foundation-sdk/dashboard'
import type * as prometheus from '@grafana/grafana-foundation-sdk/prometheus'
import type * as stat from '@grafana/grafana-foundation-sdk/stat'
import type * as table from '@grafana/grafana-foundation-sdk/table'
import type * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'

/** The values of enums as JSON has them. */
type Plain<T> = T extends string
  ? `${T}`
  : T extends number
    ? number
    : T extends readonly (infer Item)[]
      ? Plain<Item>[]
      : T extends object
        ? { [Key in keyof T]: Plain<T[Key]> }
        : T

type Field<Custom> = Omit<dashboard.FieldConfig, 'custom'> & { custom?: Custom }
type PanelOf<Type extends string, Options, Custom> = Omit<
  dashboard.Panel,
  'type' | 'options' | 'fieldConfig' | 'targets'
> & {
  type: Type
  options: Options
  fieldConfig: Omit<dashboard.FieldConfigSource, 'defaults'> & { defaults: Field<Custom> }
  targets: Omit<prometheus.Dataquery, '_implementsDataqueryVariant'>[]
}

export type GrafanaDashboard = Plain<
  Omit<dashboard.Dashboard, 'panels'> & {
    panels: (
      | dashboard.RowPanel
      | PanelOf<'stat', stat.Options, never>
      | PanelOf<'table', table.Options, table.FieldConfig>
      | PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
    )[]
  }
>
