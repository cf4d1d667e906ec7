import { DATA_SYNC_REASON_HELP } from '../api/data-sync-reasons.ts'
import { quietReasons, type ReasonHelp } from '../api/reason-help.ts'
import { VIRTUAL_MACHINE_REASON_HELP } from '../api/virtual-machine-reasons.ts'
import { REASON_HELP } from '../api/vm-disk-image-reasons.ts'
import { WORKSPACE_REASON_HELP } from '../api/workspace-reasons.ts'
import { WORKSPACE_SNAPSHOT_REASON_HELP } from '../api/workspace-snapshot-reasons.ts'
import { RECORDING_RULES } from './recording-rules.ts'

/** How soon people must act: immediately, in working hours, eventually. */
export type AlertSeverity = 'critical' | 'warning' | 'info'

/** The source for everything about an alert: the rule, its tests, its section in the docs. */
export interface Alert {
  /** How soon people must act. */
  readonly severity: AlertSeverity
  /** In PromQL: what is wrong wherever it has a value. Of all replicas together, by namespace of the operator. */
  readonly expr: string
  /** Something is wrong if `expr` is above this. If absent, `expr` contains the condition. */
  readonly above?: number
  /** Prometheus duration for which it must be wrong without interruption. `0s` means immediately. */
  readonly for: string
  /** One line for people, a template of Prometheus. */
  readonly summary: string
  /** What it means and what to do, a template of Prometheus. */
  readonly description: string
}

const HOUR_SECONDS = 3_600
/** Three workspaces are deleted in a minute: a class of 30 takes this long. */
const OVERDUE_SECONDS = 600
const DAY_SECONDS = 24 * HOUR_SECONDS
const TIB = 2 ** 40

const sum = (series: string, by = 'namespace') => `sum by (${by}) (${series})`
const STARTED = (window: string) => sum(`increase(ot_sync_started_total[${window}])`)
const IN_USE = RECORDING_RULES.slotsInUse.record
const LIMIT = RECORDING_RULES.slotLimit.record
const QUEUE = RECORDING_RULES.queueLength.record
const LEADERS = 'leader_election_master_status{name="sync-operator"}'

/** The reasons of each kind. */
const REASONS: Readonly<Record<string, Readonly<Record<string, ReasonHelp>>>> = {
  VMDiskImage: REASON_HELP,
  DataSync: DATA_SYNC_REASON_HELP,
  VirtualMachine: VIRTUAL_MACHINE_REASON_HELP,
  Workspace: WORKSPACE_REASON_HELP,
  WorkspaceSnapshot: WORKSPACE_SNAPSHOT_REASON_HELP,
}

/** Selects objects in these phases, and with a reason that somebody has to act on. */
const notQuiet = (phase: string) =>
  Object.entries(REASONS)
    .map(([kind, help]) => state(`kind="${kind}",phase${phase},reason!~"${quietReasons(help).join('|')}"`))
    .join(' or ')
const state = (labels: string) => `ot_state_longest_seconds{${labels}}`
const longest = (series: string, by = 'namespace, kind, reason') => `max by (${by}) (${series})`

/** Every alert, by its name without the prefix: `QueueStuck` is `OpenTerrainQueueStuck`. */
export const ALERTS = {
  QueueStuck: {
    severity: 'warning',
    expr: `${QUEUE} > 0 and ${LIMIT} > 0 and ${STARTED('15m')} == 0`,
    for: '45m',
    summary: 'Images wait for a slot, and no download has begun for an hour',
    description:
      '{{ $value }} images are in the queue. All slots are taken by downloads that do not end, or nothing hands them out.',
  },
  SlotIdle: {
    severity: 'warning',
    expr: `${LIMIT} - ${IN_USE} > 0 and ${QUEUE} > 0`,
    for: '10m',
    summary: 'Images wait for a slot while slots are free',
    description: '{{ $value }} slots are free, and the images that wait do not get them.',
  },
  OverLimit: {
    severity: 'critical',
    // A lowered limit does not stop downloads, so more than the limit may run. But then no other one may start.
    expr: `${sum('ot_sync_without_slot')} > 0 or (min_over_time((${IN_USE} - ${LIMIT})[10m:1m]) > 0 and ${STARTED('5m')} > 0)`,
    for: '2m',
    summary: 'More images download than the policy allows',
    description:
      'Downloads run without a slot, or one began while more than the limit were running. {{ $value }} are too many.',
  },
  RetriesExhausted: {
    severity: 'warning',
    expr: `${RECORDING_RULES.failedImages.record} > 0`,
    for: '5m',
    summary: 'Images have failed and are not tried again: {{ $labels.reason }}',
    description:
      '{{ $value }} images are Failed with the reason {{ $labels.reason }}. They stay so until somebody acts.',
  },
  PolicyInvalid: {
    severity: 'warning',
    expr: 'min by (namespace) (ot_config_valid) == 0',
    for: '1m',
    summary: 'A value of the policy is not used',
    description:
      'A key of ConfigMap sync-operator-policy is unknown, or has a value that is not used. The last valid value stays in force. After a restart of the operator the default is used, and for concurrency the limit in ConfigMap sync-operator-slots. The Events of the ConfigMap name the key.',
  },
  NoLeader: {
    severity: 'critical',
    expr: `${sum(LEADERS)} == 0 or absent(${LEADERS})`,
    for: '2m',
    summary: 'No replica of the operator leads',
    description:
      'No new download or machine is started, and no status changes. Running downloads and machines continue.',
  },
  StaleWatch: {
    severity: 'warning',
    expr: 'max by (namespace, pod, kind) (ot_informer_silent_seconds)',
    above: 300,
    for: '2m',
    summary: 'A replica of the operator receives no changes of {{ $labels.kind }}',
    description:
      'The API server has sent {{ $labels.pod }} nothing about {{ $labels.kind }} for {{ $value | humanizeDuration }}. What it knows of them may be out of date.',
  },
  LookAlikes: {
    severity: 'warning',
    expr: `${sum('increase(ot_look_alikes_total[1h])', 'namespace, kind')} > 0`,
    for: '0s',
    summary: 'Objects of kind {{ $labels.kind }} pretend to belong to images',
    description: 'Somebody made objects that look like those of the operator and are not. The operator ignores them.',
  },
  NeighbourAway: {
    severity: 'critical',
    expr: `${RECORDING_RULES.neighbourAway.record} > 0`,
    for: '5m',
    summary: '{{ $labels.neighbour }} does not respond',
    description:
      'The controller of {{ $labels.neighbour }} does not renew its Lease, or its webhooks cannot be called. What waits for it has the reason {{ $labels.neighbour }}NotResponding, and nothing of it times out.',
  },
  DiskLost: {
    severity: 'critical',
    expr: `${sum('ot_vm_disk_loss', 'namespace, reason')} > 0`,
    for: '0s',
    summary: 'Virtual machines lose the disk that their guests ran from: {{ $labels.reason }}',
    description:
      '{{ $value }} virtual machines have the condition DiskLost with the reason {{ $labels.reason }}. What is not saved while the guest runs is lost. No new disk is made before somebody asks for it.',
  },
  ObjectFailed: {
    severity: 'warning',
    // Images that failed have an alert of their own.
    expr: longest(state('phase="Failed",kind!="VMDiskImage"')),
    above: 0,
    for: '5m',
    summary: 'A {{ $labels.kind }} is Failed: {{ $labels.reason }}',
    description:
      'The one that failed first has been Failed with the reason {{ $labels.reason }} for {{ $value | humanizeDuration }}.',
  },
  ObjectBlocked: {
    severity: 'warning',
    expr: longest(
      `${notQuiet('!~"Failed|Ready|Succeeded|Deleting|Retrying"')} or ${state('phase=~"Ready|Succeeded",reason="InternalError"')}`,
    ),
    above: 15 * 60,
    for: '5m',
    summary: 'A {{ $labels.kind }} waits for somebody to act: {{ $labels.reason }}',
    description:
      'The one that has waited longest has had the reason {{ $labels.reason }} for {{ $value | humanizeDuration }}.',
  },
  ImageWaiting: {
    severity: 'warning',
    expr: longest(
      state('kind="VMDiskImage",phase=~"Queued|Syncing|Snapshotting",reason=~"Starting|Snapshotting|Stopping"') +
        ` or ${state('kind="VMDiskImage",phase="Retrying"')}`,
      'namespace, reason',
    ),
    above: HOUR_SECONDS,
    // A new leader does not know when the step of an image began, only when its sync did.
    for: '30m',
    summary: 'An image has not come further for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
    description:
      'Its step takes too long, or its attempts fail for the same reason, {{ $labels.reason }}, again and again.',
  },
  DeletionStuck: {
    severity: 'warning',
    expr: longest(state('phase="Deleting"')),
    above: HOUR_SECONDS,
    for: '5m',
    summary: 'A {{ $labels.kind }} has been Terminating for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
    description: 'Something still uses it, or one of its finalizers is not removed.',
  },
  NodeNotIsolated: {
    severity: 'warning',
    expr: `${sum('ot_state_objects{kind="Workspace",reason="NodeNotIsolated"}')} > 0`,
    for: '15m',
    summary: 'Members of {{ $value }} workspaces reach the services of a node',
    description:
      'The rules of labIsolation are not loaded on a node that runs members of workspaces with networks of their own.',
  },
  ObjectWarned: {
    severity: 'info',
    expr: longest(notQuiet('=~"Ready|Succeeded"')),
    above: DAY_SECONDS,
    for: '5m',
    summary: 'A {{ $labels.kind }} is ready, and not as its author wrote it: {{ $labels.reason }}',
    description:
      'The one that has been so longest has had the reason {{ $labels.reason }} for {{ $value | humanizeDuration }}.',
  },
  OnHold: {
    severity: 'info',
    expr: longest(state('phase!~"Deleting",reason=~"Suspended|Paused"')),
    above: DAY_SECONDS,
    for: '5m',
    summary: 'A {{ $labels.kind }} has been held back for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
    description: 'Somebody wanted that, and may have forgotten it.',
  },
  ArtifactLost: {
    severity: 'warning',
    expr: `${sum('increase(ot_vmdi_artifacts_lost_total[1h])')} > 0`,
    for: '0s',
    summary: 'What disks are cloned from is gone',
    description:
      'Artifacts of images were deleted, or their storage is lost. The images make them again, most by a new download.',
  },
  VolumeLost: {
    severity: 'warning',
    expr: `${sum('increase(ot_workspace_volumes_lost_total[1h])')} > 0`,
    for: '0s',
    summary: 'What was on a volume of a workspace is gone, or goes with its pods',
    description:
      'Somebody deletes claims of volumes, or their storage is gone. They are not made again before somebody asks for it.',
  },
  SecretLost: {
    severity: 'warning',
    expr: `${sum('increase(ot_workspace_secrets_lost_total[1h])')} > 0`,
    for: '0s',
    summary: 'Random values of a Secret of a workspace are gone',
    description:
      'Somebody deletes Secrets that the operator made, or keys of them. They are made again with other values: what was made with the old ones goes on with those.',
  },
  WorkspaceDeletion: {
    severity: 'warning',
    expr: `${sum('ot_workspace_expiring{action="Delete"}')} > 0`,
    for: '0s',
    summary: '{{ $value }} workspaces are about to be deleted, with their disks and volumes',
    description:
      'The end of these workspaces is near, and their spec.onExpiry is Delete. What is on their disks and volumes is then gone.',
  },
  WorkspaceOverdue: {
    severity: 'warning',
    expr: RECORDING_RULES.longestOverdue.record,
    above: OVERDUE_SECONDS,
    for: '5m',
    summary: 'A workspace runs on {{ $value | humanizeDuration }} after its end',
    description: 'It should have been switched off or deleted then.',
  },
  MachineWaiting: {
    severity: 'warning',
    expr: RECORDING_RULES.longestMachineWait.record,
    above: HOUR_SECONDS,
    for: '5m',
    summary: 'A virtual machine has not become ready for {{ $value | humanizeDuration }}',
    description: 'The machine that has waited longest is still Provisioning.',
  },
  WorkspaceWaiting: {
    severity: 'warning',
    expr: RECORDING_RULES.longestWorkspaceWait.record,
    above: HOUR_SECONDS,
    for: '5m',
    summary: 'A workspace has not become ready for {{ $value | humanizeDuration }}',
    description: 'The workspace that has waited longest is still Provisioning.',
  },
  UnusedImageBytes: {
    severity: 'info',
    expr: RECORDING_RULES.unusedImageBytes.record,
    above: TIB,
    for: '1h',
    summary: 'Images that nothing refers to take {{ $value | humanize1024 }}B',
    description: 'They are deleted automatically when their TTL is over, if their reclaimPolicy is Delete.',
  },
} as const satisfies Readonly<Record<string, Alert>>

/** Name of an alert, without the prefix. */
export type AlertName = keyof typeof ALERTS

/** Overrides for one alert of one installation. */
export type AlertOverride = Partial<Pick<Alert, 'severity' | 'above' | 'for'>>

/** Returns the anchor of the runbook section about an alert. */
export function runbookAnchor(name: AlertName): string {
  return fullName(name).toLowerCase()
}

/** Returns the name of the alert in Prometheus. */
export function fullName(name: AlertName): string {
  return `OpenTerrain${name}`
}
