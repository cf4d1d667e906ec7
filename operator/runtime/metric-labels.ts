/** What a label of a metric may have. A series exists for each value, for as long as Prometheus keeps data. */
export interface LabelHelp {
  /** What its values are. */
  readonly values: string
  /** Most values that it has, however many objects there are and whatever they say. */
  readonly most: number
}

/** Every label of the operator's metrics. None has the name of an object, and none a text that others write but `class`. */
export const METRIC_LABELS = {
  action: { values: 'what happens at the end of a Workspace: `Halt` or `Delete`', most: 2 },
  class: {
    values:
      'value of the label of Workspaces that `LAB_CLASS_LABEL` names. People write it: the 100 largest classes are told apart, the others are `(others)`',
    most: 101,
  },
  code: { values: 'status code of HTTP, or the error of a request that had no response', most: 40 },
  controller: { values: 'name of a controller', most: 30 },
  kind: { values: 'kind of objects; for caches with the selector of what is kept', most: 60 },
  method: { values: 'method of HTTP, or `WATCH`', most: 10 },
  name: { values: 'name of a work queue, or of the Lease', most: 30 },
  neighbour: { values: '`CDI` or `KubeVirt`', most: 2 },
  phase: { values: 'phase of the kind, `Deleting` or `Retrying`', most: 12 },
  play: { values: '`build` or `deploy`', most: 2 },
  reason: { values: 'reason of the [API reference](api.md#reasons), or `Other`', most: 120 },
  resource: { values: 'resource of the API, in the plural', most: 60 },
  result: { values: 'how it ended', most: 4 },
  source_type: { values: 'source type of images', most: 8 },
  state: { values: 'state of a lab or of a machine, see [Classes](../../docs/operations.md#classes)', most: 4 },
  verb: { values: 'method of HTTP, or `WATCH`', most: 10 },
  why: { values: '`LastReferenceWent` or `NeverReferenced`', most: 2 },
} as const satisfies Readonly<Record<string, LabelHelp>>

/** Name of a label. */
export type MetricLabel = keyof typeof METRIC_LABELS

/** Value of a label for what is in none of its values. */
const OTHER = 'Other'

/** Returns the value of a label: a status may say anything, and each value of a label is a series for ever. */
export function knownOrOther(known: object, value: string): string {
  return Object.hasOwn(known, value) ? value : OTHER
}
