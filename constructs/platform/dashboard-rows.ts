import { ALERTS, type AlertName } from './alerts.ts'
import { RECORDING_RULES } from './recording-rules.ts'

/** Unit of what a panel shows, by the name that Grafana has for it. */
export type DashboardUnit = 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'bool_yes_no'

/** One query of a panel. */
export interface DashboardQuery {
  /** In PromQL, with the variables of the dashboard. */
  readonly expr: string
  /** Name of each series that it returns, with `{{label}}` for the value of a label. */
  readonly legend: string
}

/** One figure, or one graph. */
export interface DashboardPanel {
  /** What it shows. */
  readonly title: string
  /** What it means, and what to do when it is bad. */
  readonly description: string
  /** How it is shown: the value now, values over time, or a table of the values now. */
  readonly as: 'stat' | 'timeseries' | 'table'
  /** Unit of its values. */
  readonly unit: DashboardUnit
  /** What it is made of. */
  readonly queries: readonly DashboardQuery[]
  /** From which values on it is a warning, and is bad; or, where low values are bad, from which on it is fair, and is good. Absent: no value is bad. */
  readonly thresholds?:
    | { readonly warning?: number; readonly bad: number }
    | { readonly fair?: number; readonly good: number }
  /** Whether the series are parts of a whole. */
  readonly isStacked?: boolean
  /** The alert whose section of the runbook says more. */
  readonly alert?: AlertName
  /** Columns of the 24 that it takes. Absent: 4 as a stat, 8 otherwise. */
  readonly width?: number
}

/** Panels that answer one question together. */
export interface DashboardRow {
  /** The question. */
  readonly question: string
  /** What answers it. */
  readonly panels: readonly DashboardPanel[]
}

const NAMESPACE = 'namespace="$namespace"'
const select = (metric: string, labels = '') => `${metric}{${[NAMESPACE, labels].filter(Boolean).join(',')}}`
const sum = (metric: string, by?: string, labels = '') =>
  `sum${by === undefined ? '' : ` by (${by})`} (${select(metric, labels)})`
const max = (metric: string, by?: string, labels = '') =>
  `max${by === undefined ? '' : ` by (${by})`} (${select(metric, labels)})`
const recorded = (name: keyof typeof RECORDING_RULES) => select(RECORDING_RULES[name].record)
/** How often it happened in the last hour. */
const hourly = (counter: string, by?: string, labels = '') =>
  `sum${by === undefined ? '' : ` by (${by})`} (increase(${select(counter, labels)}[1h]))`
const perSecond = (counter: string, by: string, labels = '') =>
  `sum by (${by}) (rate(${select(counter, labels)}[$__rate_interval]))`
/** Over an hour by default: what happens rarely is not seen in a few minutes. */
const quantile = (share: number, histogram: string, by?: string, window = '1h') =>
  `histogram_quantile(${share}, sum by (${by === undefined ? 'le' : `le, ${by}`}) (rate(${select(`${histogram}_bucket`)}[${window}])))`
const medianAndMost = (histogram: string): readonly DashboardQuery[] => [
  { expr: quantile(0.5, histogram), legend: 'half of them within' },
  { expr: quantile(0.9, histogram), legend: '9 of 10 within' },
]

/** What the dashboard asks, and what answers it, from top to bottom. */
export const DASHBOARD_ROWS: readonly DashboardRow[] = [
  {
    question: 'Does it work?',
    panels: [
      {
        title: 'Leader',
        description:
          'Replicas that lead. 1 is right. With 0, nothing new starts, and what runs goes on: look at the pods and the Lease.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: sum('leader_election_master_status'), legend: 'leads' }],
        thresholds: { good: 1 },
        alert: 'NoLeader',
      },
      {
        title: 'Alerts that fire',
        description: 'Alerts of Open Terrain that fire now. The graph beside it names them.',
        as: 'stat',
        unit: 'short',
        queries: [
          {
            expr: `count(ALERTS{${NAMESPACE},alertname=~"OpenTerrain.+",alertstate="firing",severity!="info"}) or vector(0)`,
            legend: 'firing',
          },
        ],
        thresholds: { bad: 1 },
      },
      {
        title: 'Neighbours away',
        description: 'CDI or KubeVirt does not respond. Guests and downloads go on, and what needs them waits.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: recorded('neighbourAway'), legend: '{{neighbour}}' }],
        thresholds: { bad: 1 },
        alert: 'NeighbourAway',
      },
      {
        title: 'Policy is used',
        description: 'No: a value of the policy is not used. Its status ConfigMap names the key, and what is valid.',
        as: 'stat',
        unit: 'bool_yes_no',
        queries: [{ expr: `min(${select('ot_config_valid')})`, legend: 'valid' }],
        thresholds: { good: 1 },
        alert: 'PolicyInvalid',
      },
      {
        title: 'Alerts over time',
        description: 'Alerts of Open Terrain that fired. Each has a section in the runbook.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          {
            expr: `count by (alertname) (ALERTS{${NAMESPACE},alertname=~"OpenTerrain.+",alertstate="firing"})`,
            legend: '{{alertname}}',
          },
        ],
        isStacked: true,
      },
    ],
  },
  {
    question: 'Do downloads keep up?',
    panels: [
      {
        title: 'Slots',
        description:
          'Downloads that run, and the policy key concurrency. If all slots are in use while the queue grows, and the network has room, raise it.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: recorded('slotsInUse'), legend: 'in use' },
          { expr: recorded('slotLimit'), legend: 'limit' },
        ],
        alert: 'SlotIdle',
      },
      {
        title: 'Queue',
        description:
          'Images that wait for a slot. A queue that does not move has an alert: its section says where to look.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: recorded('queueLength'), legend: 'waiting' }],
        alert: 'QueueStuck',
      },
      {
        title: 'Downloads in an hour',
        description: 'Downloads that began, and attempts that ended, in the hour before.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: hourly('ot_sync_started_total'), legend: 'began' },
          { expr: hourly('ot_sync_attempts_total', 'result'), legend: '{{result}}' },
        ],
      },
      {
        title: 'Wait for a slot',
        description:
          'How long images of the last hour waited for a slot, without what they waited for something missing. Long waits are a matter of concurrency.',
        as: 'timeseries',
        unit: 's',
        queries: medianAndMost('ot_sync_wait_seconds'),
        thresholds: { warning: 1_800, bad: 3_600 },
      },
      {
        title: 'Wait for something missing',
        description:
          'For how long the image that has waited longest has waited for what somebody has to make, such as a Secret, by reason. Make it before the image.',
        as: 'timeseries',
        unit: 's',
        queries: [
          {
            expr: max(
              'ot_state_longest_seconds',
              'reason',
              'kind="VMDiskImage",phase="Queued",reason!~"Queued|Starting|Paused|Suspended"',
            ),
            legend: '{{reason}}',
          },
        ],
        alert: 'ObjectBlocked',
      },
      {
        title: 'Duration of downloads',
        description:
          'How long successful downloads of the last hour took. If it grows with the number of slots in use, the network is full: lower concurrency.',
        as: 'timeseries',
        unit: 's',
        queries: medianAndMost('ot_sync_duration_seconds'),
      },
    ],
  },
  {
    question: 'Why do downloads fail?',
    panels: [
      {
        title: 'Failed attempts in an hour, by reason',
        description:
          'Attempts that failed. Most are tried again. The API reference has the remedy of each reason, and the attempts in the status of the image have the text.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          // Those that never occur are there too, with 0.
          { expr: `${hourly('ot_sync_attempts_total', 'reason', 'result="Failed"')} > 0`, legend: '{{reason}}' },
        ],
        isStacked: true,
        alert: 'ImageWaiting',
      },
      {
        title: 'Images that have failed, by reason',
        description: 'Images that are Failed, and stay so until somebody acts. Do what the remedy of the reason says.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: recorded('failedImages'), legend: '{{reason}}' }],
        isStacked: true,
        alert: 'RetriesExhausted',
      },
      {
        title: 'Downloads without a slot',
        description:
          'Downloads beyond the limit. There must be none: if there are, it is a bug, or somebody forges them.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: sum('ot_sync_without_slot'), legend: 'without a slot' }],
        thresholds: { bad: 1 },
        alert: 'OverLimit',
      },
      {
        title: 'Look-alikes in an hour',
        description: 'Objects that look like children of images and are not. Find out who makes them.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: hourly('ot_look_alikes_total'), legend: 'look-alikes' }],
        thresholds: { bad: 1 },
        alert: 'LookAlikes',
      },
    ],
  },
  {
    question: 'What do images take?',
    panels: [
      {
        title: 'Images by phase',
        description: 'All images. Those that are Succeeded can be cloned.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_vmdi_phase', 'phase'), legend: '{{phase}}' }],
        isStacked: true,
      },
      {
        title: 'Images by use',
        description:
          'Images that something refers to, and those that nothing refers to. The latter are deleted after unreferencedTTL, unless they are retained.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: `${sum('ot_vmdi_phase')} - ${sum('ot_vmdi_unreferenced')}`, legend: 'referenced' },
          { expr: sum('ot_vmdi_unreferenced'), legend: 'unreferenced' },
          { expr: sum('ot_vmdi_deletion_blocked'), legend: 'deleted, and in use' },
        ],
        alert: 'UnusedImageBytes',
      },
      {
        title: 'Size of images',
        description:
          'Size of the smallest clones of what is kept. What it takes on disk, only the storage knows. `ot prune --dry-run` says what may go.',
        as: 'timeseries',
        unit: 'bytes',
        queries: [
          { expr: `${sum('ot_vmdi_bytes')} - ${sum('ot_vmdi_unreferenced_bytes')}`, legend: 'referenced' },
          { expr: recorded('unusedImageBytes'), legend: 'unreferenced' },
        ],
        isStacked: true,
        alert: 'UnusedImageBytes',
      },
      {
        title: 'References',
        description: 'References to images by machines, and by all else: labs, DataSyncs and clones under way.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: sum('ot_vmdi_machine_references'), legend: 'by machines' },
          { expr: `${sum('ot_vmdi_references')} - ${sum('ot_vmdi_machine_references')}`, legend: 'by others' },
        ],
        isStacked: true,
        width: 12,
      },
      {
        title: 'Images removed or lost in an hour',
        description:
          'Images that were deleted because nothing referred to them, and artifacts that somebody or the storage lost. If images come back soon, raise unreferencedTTL.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: hourly('ot_vmdi_removed_total', 'why'), legend: 'removed: {{why}}' },
          { expr: hourly('ot_vmdi_artifacts_lost_total'), legend: 'artifacts lost' },
        ],
        alert: 'ArtifactLost',
        width: 12,
      },
    ],
  },
  {
    question: 'Are machines there?',
    panels: [
      {
        title: 'Machines by phase',
        description: 'All virtual machines.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_vm_phase', 'phase'), legend: '{{phase}}' }],
        isStacked: true,
      },
      {
        title: 'What machines wait for',
        description: 'Machines that are not ready, by reason. The table in the runbook says what to do for each.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_vm_waiting', 'reason'), legend: '{{reason}}' }],
        isStacked: true,
        alert: 'MachineWaiting',
      },
      {
        title: 'Outdated machines',
        description:
          'Machines of an earlier spec or image, by reason. RestartRequired needs a restart, the others a rebuild: `ot rebuild`.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_vm_outdated', 'reason'), legend: '{{reason}}' }],
        isStacked: true,
        alert: 'ObjectWarned',
      },
      {
        title: 'Time to become ready',
        description:
          'How long machines of the last hour took, without the wait for their image. If it is long, look at the clones: full copies take as long as a download.',
        as: 'timeseries',
        unit: 's',
        queries: medianAndMost('ot_vm_provision_seconds'),
        thresholds: { warning: 600, bad: 3_600 },
      },
      {
        title: 'Longest wait',
        description: 'For how long the machine that has waited longest has not been ready.',
        as: 'timeseries',
        unit: 's',
        queries: [{ expr: recorded('longestMachineWait'), legend: 'longest wait' }],
        thresholds: { bad: ALERTS.MachineWaiting.above },
        alert: 'MachineWaiting',
      },
      {
        title: 'Full copies',
        description:
          'Machines whose disk CDI copied instead of cloning it: check the classes of storage and snapshots.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: sum('ot_vm_full_copies'), legend: 'full copies' }],
        thresholds: { warning: 1, bad: 10 },
        alert: 'ObjectWarned',
      },
      {
        title: 'Disks lost',
        description: 'Machines whose disk is gone or going. Do not stop the guest: only it has what is on the disk.',
        as: 'stat',
        unit: 'short',
        queries: [{ expr: sum('ot_vm_disk_loss'), legend: 'disks' }],
        thresholds: { bad: 1 },
        alert: 'DiskLost',
      },
    ],
  },
  {
    question: 'Are labs there?',
    panels: [
      {
        title: 'Labs by phase',
        description: 'All Workspaces. `kubectl get otws` shows what each waits for.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_workspace_phase', 'phase'), legend: '{{phase}}' }],
        isStacked: true,
      },
      {
        title: 'Longest wait and overtime',
        description: 'The lab that has waited longest, and the one that runs on longest after its end.',
        as: 'timeseries',
        unit: 's',
        queries: [
          { expr: recorded('longestWorkspaceWait'), legend: 'longest wait' },
          { expr: recorded('longestOverdue'), legend: 'after its end' },
        ],
        thresholds: { bad: ALERTS.WorkspaceWaiting.above },
        alert: 'WorkspaceWaiting',
      },
      {
        title: 'Labs that end soon',
        description:
          'Labs whose end is announced, by what happens then. Delete takes disks and volumes: `ot extend` gives one a later end.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_workspace_expiring', 'action'), legend: '{{action}}' }],
        isStacked: true,
        alert: 'WorkspaceDeletion',
      },
      {
        title: 'Labs of the class',
        description: 'Labs of the chosen classes, by state. Empty unless the operator has LAB_CLASS_LABEL.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: sum('ot_class_workspaces', 'class, state', 'class=~"$class"'), legend: '{{class}} {{state}}' },
        ],
        isStacked: true,
      },
      {
        title: 'Machines of the class that are ready',
        description: 'Share of the deployed machines that are ready. `ot labs -l` names those that are not.',
        as: 'timeseries',
        unit: 'percentunit',
        queries: [
          {
            expr: `${sum('ot_class_machines', 'class', 'class=~"$class",state="Ready"')} / ${sum('ot_class_machines', 'class', 'class=~"$class"')}`,
            legend: '{{class}}',
          },
        ],
        thresholds: { fair: 0.9, good: 1 },
      },
      {
        title: 'Outdated members of the class',
        description:
          'Members of labs whose disk is of an earlier spec: `ot rebuild --outdated` for those that may lose their disk.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('ot_class_members_outdated', 'class', 'class=~"$class"'), legend: '{{class}}' }],
      },
      {
        title: 'Plays in an hour',
        description: 'Plays of roles that ended. The log of the Job of one that failed says why.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: hourly('ot_plays_total', 'play, result'), legend: '{{play}} {{result}}' }],
        width: 12,
      },
      {
        title: 'Data lost in an hour',
        description: 'Volumes and Secrets of labs whose content is gone. The audit log shows who deleted them.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          { expr: hourly('ot_workspace_volumes_lost_total'), legend: 'volumes' },
          { expr: hourly('ot_workspace_secrets_lost_total'), legend: 'Secrets' },
        ],
        thresholds: { bad: 1 },
        alert: 'VolumeLost',
        width: 12,
      },
    ],
  },
  {
    question: 'What waits for somebody?',
    panels: [
      {
        title: 'Longest in their state',
        description:
          'The states in which objects have been longest, without those that are as they should be. The API reference has the remedy of each reason.',
        as: 'table',
        unit: 's',
        queries: [
          {
            expr: `topk(20, ${max('ot_state_longest_seconds', 'kind, phase, reason', 'phase!~"Ready|Succeeded"')})`,
            legend: '{{kind}} {{phase}} {{reason}}',
          },
        ],
        alert: 'ObjectBlocked',
        width: 12,
      },
      {
        title: 'How many are in it',
        description: 'Objects in each state, without those that are as they should be.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          {
            expr: sum('ot_state_objects', 'kind, phase, reason', 'phase!~"Ready|Succeeded"'),
            legend: '{{kind}} {{phase}} {{reason}}',
          },
        ],
        isStacked: true,
        width: 12,
      },
    ],
  },
  {
    question: 'Is the operator well?',
    panels: [
      {
        title: 'Requests to the API server',
        description:
          'By method. A rate that stays high while nothing changes is a bug. Compare it with the limit API_REQUESTS_PER_SECOND.',
        as: 'timeseries',
        unit: 'reqps',
        queries: [{ expr: perSecond('rest_client_requests_total', 'method'), legend: '{{method}}' }],
        isStacked: true,
      },
      {
        title: 'Requests that fail',
        description:
          'By code. 409 now and then is normal. 403 is a right that is missing, 429 and 5xx an API server that has too much to do.',
        as: 'timeseries',
        unit: 'reqps',
        queries: [{ expr: perSecond('rest_client_requests_total', 'code', 'code!~"2.."'), legend: '{{code}}' }],
        isStacked: true,
        alert: 'StaleWatch',
      },
      {
        title: 'Duration of requests',
        description: 'How long 9 of 10 requests took. If it grows, look at the API server.',
        as: 'timeseries',
        unit: 's',
        queries: [
          {
            expr: quantile(0.9, 'rest_client_request_duration_seconds', 'verb', '$__rate_interval'),
            legend: '{{verb}}',
          },
        ],
      },
      {
        title: 'Work queues',
        description: 'Keys that wait for a worker. They are empty within seconds, except after a start.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: sum('workqueue_depth', 'name'), legend: '{{name}}' }],
      },
      {
        title: 'Reconciles that fail in an hour',
        description:
          'Each is in the log, with its key and the error. A rate that stays is a bug, or a right that is missing.',
        as: 'timeseries',
        unit: 'short',
        queries: [
          {
            expr: hourly('controller_runtime_reconcile_total', 'controller', 'result="error"'),
            legend: '{{controller}}',
          },
        ],
      },
      {
        title: 'Silence of watches',
        description:
          'For how long the API server has sent nothing, the worst kind of each pod. Below 60 seconds as a rule.',
        as: 'timeseries',
        unit: 's',
        queries: [{ expr: max('ot_informer_silent_seconds', 'pod'), legend: '{{pod}}' }],
        thresholds: { warning: 120, bad: ALERTS.StaleWatch.above },
        alert: 'StaleWatch',
      },
      {
        title: 'Memory',
        description: 'Of each pod. Raise resources.limits.memory of the installation before it comes near the limit.',
        as: 'timeseries',
        unit: 'bytes',
        queries: [{ expr: max('process_resident_memory_bytes', 'pod'), legend: '{{pod}}' }],
      },
      {
        title: 'Processor',
        description: 'Processors that each pod uses. The operator uses one at most.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: perSecond('process_cpu_seconds_total', 'pod'), legend: '{{pod}}' }],
        thresholds: { bad: 0.9 },
      },
      {
        title: 'Objects in the caches',
        description: 'The largest kinds. Memory grows with them.',
        as: 'timeseries',
        unit: 'short',
        queries: [{ expr: `topk(10, ${max('ot_informer_objects', 'kind')})`, legend: '{{kind}}' }],
      },
    ],
  },
]
