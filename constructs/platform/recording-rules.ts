/** A series that Prometheus computes from those that it scrapes. */
export interface RecordingRule {
  /** Its name: the labels that are left, the metric, and what is done with it. */
  readonly record: string
  /** In PromQL, over all replicas, by namespace of the operator. */
  readonly expr: string
  /** What its value is. */
  readonly meaning: string
}

/** A replica that does not lead reports 0, or nothing: the sum over all is what the leader says. */
const sum = (series: string, by = 'namespace') => `sum by (${by}) (${series})`
const max = (series: string, by = 'namespace') => `max by (${by}) (${series})`

/** What dashboards show and alerts fire on: one figure for both, so that a graph shows what fired. */
export const RECORDING_RULES = {
  slotsInUse: {
    record: 'namespace:ot_sync_active:sum',
    expr: sum('ot_sync_active'),
    meaning: 'Slots in use: images that download.',
  },
  slotLimit: {
    record: 'namespace:ot_sync_concurrency_limit:sum',
    expr: sum('ot_sync_concurrency_limit'),
    meaning: 'Slots that there are.',
  },
  queueLength: {
    record: 'namespace:ot_sync_queue_length:sum',
    expr: sum('ot_sync_queue_length'),
    meaning: 'Images that wait for a slot.',
  },
  failedImages: {
    record: 'namespace_reason:ot_vmdi_failed:sum',
    expr: sum('ot_vmdi_failed', 'namespace, reason'),
    meaning: 'Images that are Failed, by reason.',
  },
  unusedImageBytes: {
    record: 'namespace:ot_vmdi_unreferenced_bytes:sum',
    expr: sum('ot_vmdi_unreferenced_bytes'),
    meaning: 'Size of the smallest clones of images that nothing refers to.',
  },
  neighbourAway: {
    record: 'namespace_neighbour:ot_neighbour_away:sum',
    expr: sum('ot_neighbour_away', 'namespace, neighbour'),
    meaning: '1 while CDI, or KubeVirt, does not respond.',
  },
  longestMachineWait: {
    record: 'namespace:ot_vm_longest_wait_seconds:max',
    expr: max('ot_vm_longest_wait_seconds'),
    meaning: 'For how long the machine that has waited longest has not been ready.',
  },
  longestWorkspaceWait: {
    record: 'namespace:ot_workspace_longest_wait_seconds:max',
    expr: max('ot_workspace_longest_wait_seconds'),
    meaning: 'For how long the Workspace that has waited longest has not been ready.',
  },
  longestOverdue: {
    record: 'namespace:ot_workspace_longest_overdue_seconds:max',
    expr: max('ot_workspace_longest_overdue_seconds'),
    meaning: 'For how long the Workspace whose end is longest over runs on.',
  },
} as const satisfies Readonly<Record<string, RecordingRule>>
